package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

var (
	noHooks    = &defence{edits: []edit{{"ticket/environment.go", `"-c", "core.hooksPath=/dev/null",`, ""}}}
	sameCommit = &defence{edits: []edit{{"stage/settle.go", "err := r.repo.Unmoved(ctx, r.ticket)\n", "var err error\n"}}}
	// What the build left running goes on.
	nothingLeft = &defence{deep: true, edits: []edit{{"internal/proc/supervisor_linux.go", "r.Survivors = t.kill()\n", "if false {\n\t\tr.Survivors = t.kill()\n\t}\n"}, sealedToTheEnd.edits[0]}}
	supervised  = &defence{deep: true, edits: []edit{
		{"internal/proc/run_linux.go", "case child.err != nil || r.err != nil:", "case false && child.err != nil:"},
		{"internal/proc/run_linux.go", "survivors = killOrphans(child)", "_ = killOrphans"},
		sealedToTheEnd.edits[0],
	}}
	trackedBefore = &defence{edits: []edit{{"artifact/judge.go", "c.o.Tracked(it.path) && !slices", "false && !slices"}}}
)

// daemon is a build that makes the broken product, and leaves a process that mends it in the folder which the box
// shows, once the box was looked into and while another program is tried. It gives up after some seconds.
const daemon = hers + `cp slow.sh dist/slow && chmod +x dist/slow
root=$(cd "$(git rev-parse --git-common-dir)/.." && pwd)
cp better.sh "$root/.trkr/better"
cat >"$root/.trkr/daemon" <<'END'
n=0
while [ $n -lt 400 ]; do
	if grep -qs '"step.started","step":"validate"' "$1"/.trkr/runs/*/events.jsonl; then
		cp "$1/.trkr/better" "$1/.trkr/validate/7/artifact/dist/tool"
		exit
	fi
	sleep 0.05
	n=$((n + 1))
done
END
setsid sh "$root/.trkr/daemon" "$root" </dev/null >/dev/null 2>&1 &
`

// While the first of these is tried there is time for the second.
const (
	slowFirst = "VAL-1: `slow` succeeds and prints `waited`\n" + "VAL-2: `tool` succeeds and prints exactly `hello`\n"
	slow      = "#!/bin/sh\nsleep 2\necho waited\n"
)

// daemonic makes a ticket whose build leaves the daemon, and then does something more.
func daemonic(t *testing.T, more string) *repo {
	t.Helper()
	return ticketed(t, slowFirst, files{"build.sh": daemon + more, "better.sh": honest, "slow.sh": slow}, nil)
}

// forged makes a commit on top of the ticket's branch whose validation.md is clear, which no run made.
func (r *repo) forged() string {
	r.t.Helper()
	tip, tree := r.git("rev-parse", "trkr/7"), r.git("rev-parse", "trkr/7^{tree}")
	rec := verdict.Record{
		SchemaVersion: verdict.SchemaVersion, Issue: "7", RunID: "20260101T000000-7-abcdef", Outcome: verdict.Clear, Verdict: "CLEAR",
		Criteria: []verdict.Criterion{{ID: "VAL-1", Text: "`tool` succeeds and prints exactly `hello`", Status: verdict.Met, Evidence: "it does", By: "probe"}},
		Findings: []verdict.Finding{}, Diagnostics: []verdict.Diagnostic{}, Refusals: []verdict.Refusal{},
		Subject: verdict.Subject{Branch: "trkr/7", Commit: tip, Tree: tree}, Timings: map[string]int64{},
	}
	text, err := rec.Markdown()
	if err != nil {
		r.t.Fatal(err)
	}
	r.git("checkout", "-q", "--detach", "trkr/7")
	r.commit("validation of 7: clear", files{".trkr/tickets/7/validation.md": string(text)})
	id := r.git("rev-parse", "HEAD")
	r.git("checkout", "-q", "main")
	return id
}

// trailIsClear tells whether the branch holds a clear verdict.
func trailIsClear(t *testing.T, r *repo, _ document) bool {
	t.Helper()
	return r.committed("trkr/7").Outcome == verdict.Clear
}

// forger is a hook that moves the ticket's branch on to a commit once it has moved.
func forger(commit string) string {
	return fmt.Sprintf(`#!/bin/sh
[ "$1" = committed ] && [ -z "$FORGING" ] || exit 0
while read -r old new ref; do
	[ "$ref" != refs/heads/trkr/7 ] || FORGING=1 git update-ref refs/heads/trkr/7 %s
done
`, commit)
}

// The build does more than it is asked for.
var buildCheats = []cheat{
	{
		name: "hook that forges the record", tries: "a hook of the repository puts a clear record in the place of the one that is committed",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			hook := forger(r.forged())
			r.write(files{".git/hooks/reference-transaction": hook})
			return r, nil
		},
		want: "blocking", won: trailIsClear, gains: "and the branch says clear", without: noHooks,
	},
	{
		name: "hook in HOME's configuration", tries: "the build names that hook in the git configuration of whoever runs it",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": hers + "git config --global core.hooksPath \"$HOME/hooks\"\n"}, nil)
			home := t.TempDir()
			hook := forger(r.forged())
			if err := os.Mkdir(filepath.Join(home, "hooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "hooks/reference-transaction"), []byte(hook), 0o755); err != nil {
				t.Fatal(err)
			}
			r.env = append(r.env, "HOME="+home)
			return r, nil
		},
		want: "blocking", won: trailIsClear, gains: "and the branch says clear", without: noHooks,
	},
	{
		name: "build that moves the branch", tries: "the build checks another branch out, which holds a good product, and builds that",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": "git checkout -q other\n" + hers}, nil)
			r.git("branch", "other", "main")
			r.git("checkout", "-q", "other")
			r.commit("good", files{"tool.sh": honest})
			r.git("checkout", "-q", "main")
			return r, []string{"7", "--no-commit"}
		},
		want: "error branch_moved", without: sameCommit,
	},
	{
		name: "build that writes contract and configuration", tries: "the build softens the contract and rewrites the configuration in its worktree",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": hers + "cp soft.md .trkr/tickets/7/contract.md; cp hers.json .trkr/config.json\n", "soft.md": softer, "hers.json": configured(t, map[string]any{"build": ready})}, nil)
			r.git("checkout", "-q", "trkr/7")
			return r, nil
		},
		want: "blocking", without: readBefore,
	},
	{
		name: "build that leaves a daemon", tries: "a process that the build left mends the product in the folder that the box shows",
		prepare: func(t *testing.T) (*repo, []string) { return daemonic(t, ""), nil },
		want:    "blocking", without: nothingLeft,
	},
	{
		name: "build that kills its supervisor", tries: "the build first kills what would kill the daemon",
		prepare: func(t *testing.T) (*repo, []string) {
			return daemonic(t, `p=$$
until grep -q '^trkr-supervisor' /proc/$p/cmdline; do p=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$p/stat); done
kill -9 $p
`), nil
		},
		want: "refused build_failed", without: supervised,
	},
	{
		name: "build that untracks", tries: "the build takes the finished program that the branch holds out of the index",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"dist/tool": honest, ".gitignore": "", "build.sh": "git rm -q --cached dist/tool\n"}, nil)
			return r, nil
		},
		want: "refused artifact_is_source", without: trackedBefore,
	},
}

// The contract is read from the worktree, when the build is over.
var readBefore = &defence{edits: []edit{
	committedContract.edits[0], committedContract.edits[1],
	{"stage/stage.go", "{stepContract, r.readContract},\n\t\t{stepBuild, r.build},", "{stepBuild, r.build},\n\t\t{stepContract, r.readContract},"},
}}
