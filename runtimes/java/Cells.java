// SPDX-License-Identifier: Apache-2.0
// Java cells in a JShell. One request per line of the first pipe, words in base64 ("=" is empty):
//	run CODE		set NAME [VALUE]
// and the answers on the second, the last one "done":
//	result TEXT		error NAME VALUE TRACEBACK		done
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileReader;
import java.io.PrintStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.UnresolvedReferenceException;
import sun.misc.Signal;

public class Cells {
	private static final String[] IMPORTS = {
		"java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.time.*", "java.util.*", "java.util.concurrent.*",
		"java.util.function.*", "java.util.regex.*", "java.util.stream.*",
	};

	private final JShell shell = JShell.builder().executionEngine("local").out(System.out).err(System.err).build();
	private final PrintStream answers;
	private volatile boolean running;

	private Cells(PrintStream answers) {
		this.answers = answers;
		for (String name : IMPORTS)
			shell.eval("import " + name + ";");
		Signal.handle(new Signal("INT"), signal -> {
			if (running)
				shell.stop();
		});
	}

	private static String decode(String word) {
		return word.equals("=") ? "" : new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
	}

	private void answer(String kind, String... texts) {
		StringBuilder line = new StringBuilder(kind);
		for (String text : texts) {
			byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
			line.append(' ').append(bytes.length == 0 ? "=" : Base64.getEncoder().encodeToString(bytes));
		}
		answers.println(line);
		answers.flush();
	}

	// An error of the code: its own exception, not the wrapper that JShell makes of it.
	private void fail(Throwable thrown) {
		String name = thrown.getClass().getSimpleName();
		if (thrown instanceof EvalException own) {
			String full = own.getExceptionClassName();
			name = full.substring(full.lastIndexOf('.') + 1);
		}
		String value = String.valueOf(thrown.getMessage());
		StringBuilder trace = new StringBuilder(name + ": " + value);
		for (StackTraceElement at : thrown.getStackTrace()) {
			if (at.getClassName().startsWith("REPL.") || !at.getClassName().startsWith("jdk.jshell"))
				trace.append("\n    at ").append(at);
		}
		answer("error", name, value, trace.toString());
	}

	private void refuse(Snippet snippet, String source) {
		List<Diag> found = shell.diagnostics(snippet).filter(Diag::isError).collect(Collectors.toList());
		String text = found.stream().map(d -> d.getMessage(Locale.ENGLISH)).collect(Collectors.joining("\n"));
		answer("error", "CompilationError", text.isEmpty() ? "the code does not compile" : text, source.strip() + "\n" + text);
	}

	// JShell keeps the value of most expressions in a variable that it makes up.
	private static boolean isExpression(Snippet snippet) {
		return snippet.kind() == Snippet.Kind.EXPRESSION || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
	}

	// One statement or declaration. False: it has failed, and so has the cell.
	private boolean evaluate(String source, boolean last) {
		for (SnippetEvent event : shell.eval(source)) {
			if (event.causeSnippet() != null)
				continue;
			if (event.status() == Snippet.Status.REJECTED) {
				refuse(event.snippet(), source);
				return false;
			}
			if (event.exception() instanceof UnresolvedReferenceException missing) {
				answer("error", "UnresolvedReferenceException", missing.getMessage(), source.strip());
				return false;
			}
			if (event.exception() != null) {
				fail(event.exception());
				return false;
			}
			if (last && isExpression(event.snippet()) && event.value() != null && !event.value().isEmpty())
				answer("result", event.value());
		}
		return true;
	}

	private void run(String code) {
		SourceCodeAnalysis analysis = shell.sourceCodeAnalysis();
		String rest = code.strip();
		running = true;
		while (!rest.isEmpty()) {
			SourceCodeAnalysis.CompletionInfo piece = analysis.analyzeCompletion(rest);
			if (!piece.completeness().isComplete() && piece.completeness() != Completeness.UNKNOWN) {
				answer("error", "CompilationError", "the code ends too early", rest);
				break;
			}
			String source = piece.completeness() == Completeness.UNKNOWN ? rest : piece.source();
			rest = piece.completeness() == Completeness.UNKNOWN ? "" : piece.remaining().strip();
			if (!evaluate(source, rest.isEmpty()))
				break;
		}
		running = false;
	}

	private void serve(BufferedReader requests) throws Exception {
		for (String line = requests.readLine(); line != null; line = requests.readLine()) {
			String[] words = line.split(" ");
			if (words[0].equals("run"))
				run(decode(words[1]));
			else if (words.length == 3)
				System.setProperty(decode(words[1]), decode(words[2]));
			else
				System.clearProperty(decode(words[1]));
			System.out.flush();
			answer("done");
		}
	}

	// Unbuffered. A class of its own, since only PrintStream itself joins the text and the line end of println() to one write:
	// E2B's clients get the text alone in the first piece of output.
	private static PrintStream output(FileDescriptor fd) {
		return new PrintStream(new FileOutputStream(fd), true) { };
	}

	public static void main(String[] args) throws Exception {
		System.setOut(output(FileDescriptor.out));
		System.setErr(output(FileDescriptor.err));
		try (BufferedReader requests = new BufferedReader(new FileReader(args[0], StandardCharsets.US_ASCII));
		     PrintStream answers = new PrintStream(new FileOutputStream(args[1]), false, StandardCharsets.US_ASCII)) {
			new Cells(answers).serve(requests);
		}
	}
}
