// SPDX-License-Identifier: Apache-2.0

// A server that writes uploads with Go's io.Copy, as E2B's envd does: POST /files?path=PATH with a plain body, or with
// multipart parts that are named after the file. Files are made below the directory that it is given.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

func write(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Chown(path, 1000, 1000); err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return err
}

func writeParts(root string, r *http.Request) (made []string, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return made, nil
		}
		if err != nil {
			return nil, err
		}
		// FileName() is the last element of the name alone; the folder comes with the query.
		path := filepath.Join(root, filepath.Clean("/"+r.URL.Query().Get("folder")), part.FileName())
		if err := write(path, part); err != nil {
			return nil, err
		}
		made = append(made, path)
	}
}

func serve(root string, w http.ResponseWriter, r *http.Request) {
	var made []string
	var err error
	if r.Header.Get("Content-Type") == "application/octet-stream" {
		path := filepath.Join(root, filepath.Clean("/"+r.URL.Query().Get("path")))
		err = write(path, r.Body)
		made = []string{path}
	} else {
		made, err = writeParts(root, r)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(made)
}

func main() {
	http.HandleFunc("/files", func(w http.ResponseWriter, r *http.Request) { serve(os.Args[1], w, r) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
