package probe

import (
	"fmt"
	"strings"
	"testing"
)

// Each program as name:what its end shows, "!" for one that is a script given to an interpreter.
func TestRead(t *testing.T) {
	tests := []struct {
		text     string
		argv     []string
		programs string
		opaque   bool
	}{
		{text: "a", argv: []string{"a"}, programs: "a:always"},
		{text: `a 'b c' "d" e=f -- g#h`, argv: []string{"a", "b c", "d", "e=f", "--", "g#h"}, programs: "a:always"},
		{text: "a {b}", programs: "a:ifZero"},
		{text: "a $HOME", programs: "a:ifZero"},
		{text: `a "$HOME"`, programs: "a:ifZero"},
		{text: "a *.txt", programs: "a:ifZero"},
		{text: "a ~/x", programs: "a:ifZero"},
		{text: `a b\ c`, programs: "a:ifZero"},
		{text: "A=1 a", programs: "a:ifZero"},
		{text: "a > out", programs: "a:ifZero"},
		{text: "a < in", programs: "a:ifZero"},
		{text: "a > /dev/null 2>&1", programs: "a:always"},
		{text: "a | b", programs: "a:hidden b:ifZero"},
		{text: "a && b", programs: "a:ifZero b:ifZero"},
		{text: "a || b", programs: "a:hidden b:hidden"},
		{text: "a; b", programs: "a:hidden b:ifZero"},
		{text: "a &", programs: "a:hidden"},
		{text: "! a", programs: "a:hidden"},
		{text: "(a; b)", programs: "a:hidden b:ifZero"},
		{text: "{ a && b; }", programs: "a:ifZero b:ifZero"},
		{text: "if a; then b; fi", programs: "a:hidden b:hidden"},
		{text: "b $(a)", programs: "b:ifZero a:hidden"},
		{text: "cd x && a", programs: "a:ifZero"},
		{text: "cd x; ./a; /b", programs: "/b:ifZero"},
		{text: "./a", argv: []string{"./a"}, programs: "./a:always"},
		{text: "echo a | b", programs: "b:ifZero"},
		{text: "echo a", argv: []string{"echo", "a"}, programs: "echo:always"},
		{text: "exit 3", programs: ""},
		{text: "f() { b; }; f", programs: "b:hidden"},
		{text: "$a b", programs: ""},
		{text: "exec a", programs: "a:always"},
		{text: "command -v a", programs: ""},
		{text: "env X=1 a b", argv: []string{"env", "X=1", "a", "b"}, programs: "env:always a:always"},
		{text: "env -i a", argv: []string{"env", "-i", "a"}, programs: "env:always"},
		{text: "env PATH=/bin a", argv: []string{"env", "PATH=/bin", "a"}, programs: "env:always a:always", opaque: true},
		{text: "timeout 5 a", argv: []string{"timeout", "5", "a"}, programs: "timeout:always a:always"},
		{text: "timeout -k 5 a", argv: []string{"timeout", "-k", "5", "a"}, programs: "timeout:always"},
		{text: "echo x | xargs a", programs: "xargs:ifZero a:ifZero"},
		{text: "sh -c 'a; b'", argv: []string{"sh", "-c", "a; b"}, programs: "sh:always a:hidden b:ifZero"},
		{text: "node /validate/artifact/x.js", argv: []string{"node", "/validate/artifact/x.js"}, programs: "node:always !/validate/artifact/x.js:always"},
		{text: "node -e 1 /validate/artifact/x.js", argv: []string{"node", "-e", "1", "/validate/artifact/x.js"}, programs: "node:always"},
		{text: "node /validate/artifact/../../tmp/x.js", argv: []string{"node", "/validate/artifact/../../tmp/x.js"}, programs: "node:always"},
		{text: "node x.js", argv: []string{"node", "x.js"}, programs: "node:always"},
		{text: "cat /validate/artifact/x", argv: []string{"cat", "/validate/artifact/x"}, programs: "cat:always"},
		{text: "java -jar /opt/validate/x.jar", argv: []string{"java", "-jar", "/opt/validate/x.jar"}, programs: "java:always !/opt/validate/x.jar:always"},
		{text: "PATH=/x a", programs: "a:ifZero", opaque: true},
		{text: "export PATH=/x; a", programs: "a:ifZero", opaque: true},
		{text: "alias a=b; a", programs: "a:ifZero", opaque: true},
		{text: "eval a", programs: "", opaque: true},
		{text: "timeout x a", argv: []string{"timeout", "x", "a"}, programs: "timeout:always a:ifZero"},
		{text: "a >&2", programs: "a:always"},
		{text: "a </dev/null", programs: "a:always"},
		{text: "a <&9", programs: "a:ifZero"},
		{text: "a 2>&3", programs: "a:ifZero"},
		{text: "a 3>&1", programs: "a:ifZero"},
		{text: "a <<E\n$((1/0))\nE", programs: "a:ifZero"},
		{text: "a ${X:?}", programs: "a:ifZero"},
		{text: "a $((1/0))", programs: "a:ifZero"},
		{text: "exec a < in", programs: "a:ifZero"},
		// What may end the text before its last command, or with another code, hides that one.
		{text: "set -e; cd missing; a", programs: "a:hidden"},
		{text: "set -u; a $UNSET", programs: "a:hidden"},
		{text: "exit 0; a", programs: "a:hidden"},
		{text: "command exit 0; a", programs: "a:hidden"},
		{text: "'exit' 0; a", programs: "a:hidden"},
		{text: "X=exit; $X; a", programs: "a:hidden"},
		{text: "f() { exit 0; }; f; a", programs: "a:hidden"},
		{text: "if b; then exit; fi; a", programs: "b:hidden a:hidden"},
		{text: "trap 'exit 0' EXIT; a", programs: "a:hidden"},
		{text: "return; a", programs: "a:hidden"},
		{text: "exec b; a", programs: "b:hidden a:hidden"},
		{text: "kill $$; a", programs: "a:hidden"},
		{text: "sh -c 'exit 3; a'", argv: []string{"sh", "-c", "exit 3; a"}, programs: "sh:always a:hidden"},
		{text: "sh -c 'a $X'", argv: []string{"sh", "-c", "a $X"}, programs: "sh:always a:ifZero"},
		{text: "a && exit 0", programs: "a:ifZero"},
		{text: "cd x && exec a", programs: "a:ifZero"},
		{text: "true || a", programs: "a:hidden"},
		{text: "a && b || c", programs: "a:hidden b:hidden c:hidden"},
		{text: "a || b && c", programs: "a:hidden b:hidden c:ifZero"},
		{text: "! a && b", programs: "a:hidden b:ifZero"},
		{text: "f() { a; }; echo hi", programs: "a:hidden"},
		{text: "sh -c 'b() { a; }'; b", programs: "sh:hidden a:hidden b:ifZero"},
		// PATH can be set in many ways.
		{text: "read PATH; a", programs: "a:ifZero", opaque: true},
		{text: "read -r $x; a", programs: "a:ifZero", opaque: true},
		{text: "read -r line; a", programs: "a:ifZero"},
		{text: "for PATH in /x; do a; done", programs: "a:hidden", opaque: true},
		{text: "for x in /x; do a; done", programs: "a:hidden"},
		{text: "unset PATH; a", programs: "a:ifZero", opaque: true},
		{text: "getopts x PATH; a", programs: "a:ifZero", opaque: true},
		{text: "set -a; a", programs: "a:hidden", opaque: true},
		{text: "set -o allexport; a", programs: "a:hidden", opaque: true},
		{text: "command export PATH=/x; a", programs: "a:ifZero", opaque: true},
		{text: ": ${PATH:=/x}; a", programs: "a:ifZero", opaque: true},
		{text: ": $((PATH=1)); a", programs: "a:ifZero", opaque: true},
		{text: "trap 'PATH=/x' USR1; a", programs: "a:hidden", opaque: true},
		{text: "''", programs: ""},
		{text: "# a", programs: ""},
	}
	for _, tt := range tests {
		p, err := read(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var names []string
		for _, prog := range p.programs {
			mark := ""
			if prog.script {
				mark = "!"
			}
			names = append(names, mark+prog.name+":"+[]string{"hidden", "ifZero", "always"}[prog.shows])
		}
		if got := strings.Join(names, " "); got != tt.programs {
			t.Errorf("%s: programs %q, want %q", tt.text, got, tt.programs)
		}
		if fmt.Sprintf("%q", p.argv) != fmt.Sprintf("%q", tt.argv) {
			t.Errorf("%s: argv %q, want %q", tt.text, p.argv, tt.argv)
		}
		if (p.opaque != "") != tt.opaque {
			t.Errorf("%s: opaque %q", tt.text, p.opaque)
		}
	}
	for _, text := range []string{"a |", "'a", "a <(b)", "fi", "a &&"} {
		if p, err := read(text); err == nil {
			t.Errorf("%s was read as %+v", text, p)
		}
	}
}

func TestSimple(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "a $HOME > out": true, "A=1 a": true, "env a": true, "sh -c 'a b'": true, "timeout 5 a": true,
		"a; b": false, "a | b": false, "a && b": false, "a $(b)": false, "A=$(b) a": false, "! a": false, "a &": false, "(a)": false,
		"sh -c 'a; b'": false, "f() { a; }": false, "": false,
	} {
		if p, err := read(text); err != nil || p.simple != want {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}
