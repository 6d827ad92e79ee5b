# SPDX-License-Identifier: Apache-2.0
# Git over smart HTTP for a test: git's own http-backend behind Basic authentication. Runs inside a sandbox, or in a
# network that it sees.
# Usage: git_http.py PORT ROOT USER TOKEN [ADDRESS]; all other files of ROOT are under /files/.
import base64
import http.server
import os
import subprocess
import sys

PORT, ROOT, USER, TOKEN = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
ADDRESS = sys.argv[5] if len(sys.argv) > 5 else "127.0.0.1"
BACKEND = "/usr/lib/git-core/git-http-backend"
WANT = "Basic " + base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self, name):
        if not os.path.isfile(name):
            self.reply(404, [], b"")
            return
        with open(name, "rb") as f:
            self.reply(200, [], f.read())

    def serve(self):
        data = self.body()
        if self.headers.get("Authorization") != WANT:
            self.reply(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        path, _, query = self.path.partition("?")
        if path.startswith("/files/"):
            self.file(os.path.join(ROOT, os.path.basename(path)))
            return
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": ROOT,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_USER": USER,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(data)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        out = subprocess.run([BACKEND], input=data, env=env, stdout=subprocess.PIPE).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        lines = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(v.split()[0]) for n, v in lines if n == "Status"), 200)
        self.reply(status, [(n, v) for n, v in lines if n != "Status"], body)

    do_GET = do_POST = serve

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer((ADDRESS, PORT), Handler).serve_forever()
