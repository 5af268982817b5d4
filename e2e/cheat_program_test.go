package e2e

import (
	"testing"
)

var (
	// A program of the image may meet what the artifact should.
	ownProgram = &defence{deep: true, edits: []edit{
		{"validator/probe/trial.go", "case starts && !t.decoy && len(t.mine) == 0:", "case false:"},
		{"validator/probe/probe.go", "if r.status == verdict.Met && r.leans && !r.replaceable {", "if false {"},
	}}
	umpire = &defence{edits: []edit{{"validator/probe/trial.go", "if t.decoy || len(names) < 2 {", "if true {"}}}
	// The list is made by whatever find comes first on PATH.
	imagesFind = &defence{edits: []edit{{"validator/probe/ground.go", "`for d in $P; do [ ! -x \"$d/find\" ] || exec \"$d/find\" . -mindepth 1 -print0; done; echo", "`find . -mindepth 1 -print0; exit; echo"}}}
	// A link of what was installed counts as the artifact's, wherever it leads.
	resolved = &defence{edits: []edit{linksOfImage.edits[1]}}
	// What was installed is listed before the box has shut it, by who installed it.
	listedByOthers = &defence{edits: []edit{
		{"internal/install/install.go", "if err = errors.Join(err, i.session.Close(), i.logErr); err != nil || r.Failure != nil {", "if err != nil || r.Failure != nil {"},
		{"internal/install/install.go", "if i.session, err = box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject}); err != nil {", "if err != nil {"},
	}}
	decoys = &defence{edits: []edit{{"validator/probe/probe.go", "if r.leans || !r.simple || demandsFailure(tree) {", "if false {"}}}
)

// beside is a build that makes the broken product and beside it another program.
func beside(name, content string) string {
	return hers + "cat >dist/" + name + " <<'END'\n" + content + "END\nchmod +x dist/" + name + "\n"
}

// packed is a build that makes an archive of a folder p that make fills.
func packed(fill string) string {
	return "rm -rf p dist && mkdir -p p/bin dist && cp tool.sh p/bin/tool && chmod +x p/bin/tool\n" + fill + "\ntar -czf dist/tool.tar.gz -C p .\n"
}

// Another program than the product meets the contract, or decides whether it does.
var programCheats = []cheat{
	{
		name: "program of the image", tries: "the artifact lacks the program, and the image happens to have one of that name",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, "VAL-1: `sort --version` succeeds and prints `sort`\n", nil, nil), nil
		},
		want: "incomplete", without: ownProgram,
	},
	{
		name: "artifact named grep", tries: "the check pipes the product through grep, and the artifact brings a grep that finds everything",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, "VAL-1: `tool | grep -c hello` prints exactly `1`\n", files{"build.sh": beside("grep", "#!/bin/sh\necho 1\n")}, nil), nil
		},
		want: "incomplete", without: umpire,
	},
	{
		name: "artifact named cat", tries: "the check looks at a file with cat, and the artifact brings a cat that shows what is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, "VAL-1: after `tool`, `cat out.txt` prints exactly `hello`\n", files{"build.sh": beside("cat", "#!/bin/sh\necho hello\n")}, nil), nil
		},
		want: "incomplete", without: umpire,
	},
	{
		name: "artifact named find", tries: "the artifact brings a find that does not see what the product leaves",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"tool.sh": "#!/bin/sh\necho >litter\n", "build.sh": beside("find", "#!/bin/sh\nexit 0\n")}
			return ticketed(t, "VAL-1: `tool` creates nothing\n", code, nil), nil
		},
		want: "blocking", without: imagesFind,
	},
	{
		name: "program that another runs", tries: "the check lets find run grep, and the artifact brings one",
		prepare: func(t *testing.T) (*repo, []string) {
			contract := "VAL-1: `tool >out.txt; find . -type f -exec grep -c hello {} +` prints exactly `1`\n"
			return ticketed(t, contract, files{"build.sh": beside("grep", "#!/bin/sh\necho 1\n")}, nil), nil
		},
		want: "incomplete", without: umpire,
	},
	{
		name: "installed program named grep", tries: "an archive of the artifact installs such a grep",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"build.sh": packed("printf '#!/bin/sh\\necho 1\\n' >p/bin/grep && chmod +x p/bin/grep"), ".gitignore": "/dist/\n/p/\n"}
			return ticketed(t, "VAL-1: `tool | grep -c hello` prints exactly `1`\n", code, nil), nil
		},
		want: "incomplete", without: umpire,
	},
	{
		name: "installed program that is hidden", tries: "the archive's grep may be run by everybody but its owner, so that the install does not see a program in it",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"build.sh": packed("printf '#!/bin/sh\\n[ ! -s out.txt ] || echo 1\\n' >p/bin/grep && chmod 0611 p/bin/grep"), ".gitignore": "/dist/\n/p/\n"}
			contract := "VAL-1: `tool >out.txt; find . -type f -exec grep -c hello {} +` prints exactly `1`\n"
			return ticketed(t, contract, code, nil), nil
		},
		want: "incomplete", without: listedByOthers,
	},
	{
		name: "installed link to the image's true", tries: "the archive holds a link to /bin/true in the place of the product",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"build.sh": packed("ln -sf /bin/true p/bin/tool"), ".gitignore": "/dist/\n/p/\n"}
			return ticketed(t, "VAL-1: `tool` succeeds\n", code, nil), nil
		},
		want: "incomplete", without: resolved,
	},
}
