package e2e

import (
	"slices"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

var (
	// What a session leaves stays.
	closedSessions = &defence{edits: []edit{{"sandbox/internal/initd/ground_linux.go", "func (b *box) Close(id Identity, d Dirs) error {\n", "func (b *box) Close(id Identity, d Dirs) error {\n\tif true {\n\t\treturn nil\n\t}\n"}}}
	killedCommands = &defence{edits: []edit{{"sandbox/internal/initd/ground_linux.go", "func (b *box) Kill(id Identity) error {\n", "func (b *box) Kill(id Identity) error {\n\tif true {\n\t\treturn nil\n\t}\n"}}}
	sealedPrefix   = &defence{edits: []edit{{"sandbox/internal/initd/seal.go", "func Seal(dir string, uid int) error {\n", "func Seal(dir string, uid int) error {\n\tif true {\n\t\treturn nil\n\t}\n"}}}
	// The inputs are bound writable, the look from inside does not mind, and everybody may write each file.
	readOnlyInputs = &defence{deep: true, edits: []edit{
		{"sandbox/gvisor/bundle.go", "bind(input, sandbox.Root, \"bind\", \"ro\"),", "bind(input, sandbox.Root, \"bind\", \"rw\"),"},
		{"sandbox/isolation.go", "if !p.holds(seen[p.fact]) {", "if !p.holds(seen[p.fact]) && p.fact != \"inputs\" {"},
		{"artifact/choose.go", "it.mode = perm | 0o444\n", "it.mode = perm | 0o666\n"},
		sealedToTheEnd.edits[0],
	}}
	initOutOfReach = &defence{
		edits: []edit{{"sandbox/internal/initd/ground_linux.go", "Credential: &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.UID)},\n", ""}},
		fails: "./sandbox/gvisor TestConformance/Privileges",
	}
)

const twice = "VAL-1: `tool a` succeeds\n" + agreedSecond

const agreedSecond = "VAL-2: `tool` succeeds and prints exactly `hello`\n"

// setUp is a ticket that a script of the artifact installs; its product is on PATH there alone.
func setUp(contract, script string) func(t *testing.T) (*repo, []string) {
	return func(t *testing.T) (*repo, []string) {
		code := files{
			"build.sh": "mkdir -p dist && cp tool.sh dist/tool.txt && cp setup.sh dist/setup.txt\n",
			"setup.sh": "set -e\nmkdir -p $PREFIX/bin && cp artifact/dist/tool.txt $PREFIX/bin/tool && chmod 755 $PREFIX/bin/tool\n" + script,
			"tool.sh":  "#!/bin/sh\nif [ \"$1\" = a ]; then\n\tprintf '#!/bin/sh\\necho hello\\n' >\"$0.new\" && chmod 755 \"$0.new\" && mv -f \"$0.new\" \"$0\"\n\tsleep 1\n\texit 0\nfi\necho goodbye\n",
		}
		return ticketed(t, contract, code, map[string]any{"install": []string{"sh artifact/dist/setup.txt"}}), nil
	}
}

// The product works on the box, or on what comes after it.
var boxCheats = []cheat{
	{
		name: "state for another assertion", tries: "one command leaves a file that another one needs to work",
		prepare: asserted(twice, "#!/bin/sh\nif [ \"$1\" = a ]; then\n\t: >/tmp/seen\nelif [ -e /tmp/seen ]; then\n\techo hello\nelse\n\techo goodbye\nfi\n", nil),
		want:    "blocking", without: closedSessions,
	},
	{
		name: "process for another assertion", tries: "one command leaves a process that helps another one",
		prepare: asserted(twice, `#!/bin/sh
if [ "$1" = a ]; then
	setsid sh -c 'n=0; while [ $n -lt 100 ]; do : >/tmp/seen; sleep 0.05; n=$((n + 1)); done' >/dev/null 2>&1 </dev/null &
	exit 0
fi
sleep 0.5
if [ -e /tmp/seen ]; then echo hello; else echo goodbye; fi
`, nil),
		want: "blocking", without: killedCommands,
	},
	{
		name: "install that leaves all open", tries: "the install lets everybody write the product, and one command mends it for the next",
		prepare: setUp(twice, "chmod -R 777 $PREFIX/bin\n"),
		want:    "blocking", without: sealedPrefix,
	},
	{
		name: "install that leaves a process", tries: "the install leaves a process that mends the product later",
		prepare: setUp(twice, `printf '#!/bin/sh\necho hello\n' >$PREFIX/better && chmod 755 $PREFIX/better
setsid sh -c 'sleep 0.5; n=0; while [ $n -lt 100 ]; do cp $PREFIX/better $PREFIX/bin/tool; sleep 0.05; n=$((n + 1)); done' >/dev/null 2>&1 </dev/null &
`),
		want: "blocking", without: killedCommands,
	},
	{
		name: "install that changes the artifact", tries: "the install mends the artifact in /validate",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"build.sh": hers + "cp setup.sh dist/setup\n", "setup.sh": "printf '#!/bin/sh\\necho hello\\n' >artifact/dist/tool; rm -f contract.md\nexit 0\n"}
			return ticketed(t, agreed, code, map[string]any{"install": []string{"sh artifact/dist/setup"}}), nil
		},
		want: "blocking", without: readOnlyInputs,
	},
	{
		name: "product that kills the init", tries: "the product ends the box, so that it could not be told",
		prepare: asserted(agreed, "#!/bin/sh\nfor s in KILL TERM HUP STOP; do kill -$s 1; kill -$s -1; done 2>/dev/null\nkill -9 $PPID\necho goodbye\n", nil),
		want:    "blocking", won: boxIsLost, gains: "and the box is lost", without: initOutOfReach,
	},
}

// boxIsLost tells whether a run ended because its box did.
func boxIsLost(_ *testing.T, _ *repo, doc document) bool {
	return slices.ContainsFunc(doc.Results, func(res result) bool {
		return res.Record != nil && slices.ContainsFunc(res.Record.Diagnostics, func(d verdict.Diagnostic) bool { return d.Code == verdict.BoxLost })
	})
}
