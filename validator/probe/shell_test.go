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
		{text: "a {b}", programs: "a:always"},
		{text: "a $HOME", programs: "a:always"},
		{text: `a "$HOME"`, programs: "a:always"},
		{text: "a *.txt", programs: "a:always"},
		{text: "a ~/x", programs: "a:always"},
		{text: `a b\ c`, programs: "a:always"},
		{text: "A=1 a", programs: "a:always"},
		{text: "a > out", programs: "a:ifZero"},
		{text: "a < in", programs: "a:ifZero"},
		{text: "a > /dev/null 2>&1", programs: "a:always"},
		{text: "a | b", programs: "a:hidden b:always"},
		{text: "a && b", programs: "a:ifZero b:ifZero"},
		{text: "a || b", programs: "a:hidden b:always"},
		{text: "a; b", programs: "a:hidden b:always"},
		{text: "a &", programs: "a:hidden"},
		{text: "! a", programs: "a:hidden"},
		{text: "(a; b)", programs: "a:hidden b:always"},
		{text: "{ a && b; }", programs: "a:ifZero b:ifZero"},
		{text: "if a; then b; fi", programs: "a:hidden b:hidden"},
		{text: "b $(a)", programs: "b:always a:hidden"},
		{text: "cd x && a", programs: "a:ifZero"},
		{text: "cd x; ./a; /b", programs: "/b:always"},
		{text: "./a", argv: []string{"./a"}, programs: "./a:always"},
		{text: "echo a | b", programs: "b:always"},
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
		{text: "echo x | xargs a", programs: "xargs:always a:ifZero"},
		{text: "sh -c 'a; b'", argv: []string{"sh", "-c", "a; b"}, programs: "sh:always a:hidden b:always"},
		{text: "node /validate/artifact/x.js", argv: []string{"node", "/validate/artifact/x.js"}, programs: "node:always !/validate/artifact/x.js:always"},
		{text: "node -e 1 /validate/artifact/x.js", argv: []string{"node", "-e", "1", "/validate/artifact/x.js"}, programs: "node:always"},
		{text: "node /validate/artifact/../../tmp/x.js", argv: []string{"node", "/validate/artifact/../../tmp/x.js"}, programs: "node:always"},
		{text: "node x.js", argv: []string{"node", "x.js"}, programs: "node:always"},
		{text: "cat /validate/artifact/x", argv: []string{"cat", "/validate/artifact/x"}, programs: "cat:always"},
		{text: "java -jar /opt/validate/x.jar", argv: []string{"java", "-jar", "/opt/validate/x.jar"}, programs: "java:always !/opt/validate/x.jar:always"},
		{text: "PATH=/x a", programs: "a:always", opaque: true},
		{text: "export PATH=/x; a", programs: "a:always", opaque: true},
		{text: "alias a=b; a", programs: "a:always", opaque: true},
		{text: "eval a", programs: "", opaque: true},
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
