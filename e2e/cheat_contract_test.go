package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	changedContract = &defence{edits: []edit{{"ticket/fixed.go", "case before.Digest() != digest:", "case false && before.Digest() != digest:"}}}
	lateContract    = &defence{edits: []edit{{"ticket/fixed.go", "case before == nil && text.Source == SourceIssue:", "case before == nil:"}}}
	pinnedContract  = &defence{edits: []edit{{"ticket/fixed.go", "if agreed.Digest != digest {", "if false {"}}}
	wholeHistory    = &defence{deep: true, edits: []edit{{"ticket/fixed.go", "if err := r.whole(ctx); err != nil {", "if err := r.whole(ctx); false {"}, lateContract.edits[0]}}
	agreeingIssue   = &defence{edits: []edit{{"ticket/contract.go", "case found && issue.Digest() != committed.Digest():", "case false && found:"}}}
	noFallBack      = &defence{deep: true, edits: []edit{{"ticket/contract.go", "case refusal != nil:\n\t\treturn", "case false:\n\t\treturn"}, changedContract.edits[0]}}
	noReplaceRefs   = &defence{deep: true, edits: []edit{
		{"ticket/environment.go", `"GIT_NO_REPLACE_OBJECTS=1",`, `"GIT_NO_REPLACE=1",`},
		{"ticket/objects.go", "if objectID(o.kind, o.data, len(o.id)) != o.id {", "if false {"},
	}}
	noGrafts = &defence{edits: []edit{{"ticket/environment.go", `"GIT_GRAFT_FILE=/dev/null",`, `"GIT_NO_GRAFT=1",`}}}
	// The contract of the worktree, where it can be read, counts.
	committedContract = &defence{edits: []edit{
		{"ticket/contract.go", "import (\n", "import (\n\t\"os\"\n"},
		{"ticket/contract.go", "committed, refusal, err := r.committedContract(ctx, t.Commit, file)\n", `committed, refusal, err := r.committedContract(ctx, t.Commit, file)
	if data, rerr := os.ReadFile(t.Worktree + "/" + file); rerr == nil {
		if c, perr := contract.Parse(data); perr == nil {
			committed = &c
		}
	}
`},
	}}
	regularContract = &defence{edits: []edit{{"ticket/tree.go", `case last[at].kind != "blob" || last[at].mode == modeLink:`, `case last[at].kind != "blob":`}}}
	someAssertion   = &defence{deep: true, edits: []edit{
		{"contract/lines.go", "len(b.assertions) == 0 && len(b.problems) == 0", "false"},
		{"stage/judge.go", "if len(open) == 0 {", "if false {"},
		{"verdict/judge.go", "if len(c.Assertions) == 0 {", "if false {"},
		{"verdict/judge.go", "case open, len(j.Criteria) == 0,", "case open,"},
		{"verdict/judge.go", "case open, len(r.Criteria) == 0:", "case open:"},
	}}
	// A branch is asked for by its short name, as people do.
	fullNames = &defence{edits: []edit{{"ticket/resolve.go", "t.Branch, t.Commit, t.remote = found.short, found.commit, found.remote != \"\"\n", `t.Branch, t.Commit, t.remote = found.short, found.commit, found.remote != ""
	t.Commit, _ = r.git.line(ctx, call{at: r.shared(), args: []string{"rev-parse", found.short + "^{commit}"}})
`}}}
	oneBranch  = &defence{edits: []edit{{"ticket/search.go", "if len(found) == 1 || len(found) > 1 && same(found) {", "if len(found) > 0 {"}}}
	plainIssue = &defence{
		edits: []edit{{"ticket/ticket.go", `if !issueID().MatchString(id) || strings.Contains(id, "..") {`, "if false {"}},
		fails: "./ticket TestParseIssue",
	}
)

// What was agreed is made softer, hidden, or exchanged.
var contractCheats = []cheat{
	{
		name: "contract softened later", tries: "a commit of its own softens the contract after the code",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.more("reword", agreement(softer))
			return r, nil
		},
		want: "refused contract_changed", without: changedContract,
	},
	{
		name: "contract softened with code", tries: "the commit that brings the code softens the contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := started(t, nil)
			r.ticket("7", agreed, files{"tool.sh": broken + "#\n", ".trkr/tickets/7/contract.md": softer})
			return r, nil
		},
		want: "refused contract_changed", without: changedContract,
	},
	{
		name: "contract softened by a merge", tries: "a merge of main brings a softer contract that neither side has",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.commit("go on", files{"README": "more\n"})
			r.git("checkout", "-q", "trkr/7")
			r.git("merge", "-q", "--no-ff", "--no-commit", "main")
			r.commit("merge main", agreement(softer))
			r.git("checkout", "-q", "main")
			return r, nil
		},
		want: "refused contract_changed", without: changedContract,
	},
	{
		name: "contract squashed into the code", tries: "a branch that is squashed to one commit brings its own contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.more("reword", agreement(softer))
			r.git("checkout", "-q", "trkr/7")
			r.git("reset", "-q", "--soft", "main")
			r.commit("all in one", nil)
			r.git("checkout", "-q", "main")
			return r, nil
		},
		want: "refused contract_changed", without: lateContract,
	},
	{
		name: "contract after the code", tries: "the contract is written down when the code is known",
		prepare: func(t *testing.T) (*repo, []string) {
			r := started(t, nil)
			r.git("checkout", "-q", "-b", "trkr/7")
			r.commit("code", files{"tool.sh": broken + "#\n"})
			r.more("contract", agreement(softer))
			return r, nil
		},
		want: "refused contract_changed", without: lateContract,
	},
	{
		name: "contract softened by a rebase", tries: "history is written anew, with a softer contract before the code; what was agreed is pinned",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			digest := r.digest()
			r.git("branch", "-qD", "trkr/7")
			r.ticket("7", softer, files{"tool.sh": broken + "#\n"})
			return r, []string{"7", "--contract-digest", digest}
		},
		want: "refused contract_changed", without: pinnedContract,
	},
	{
		name: "contract of another ticket accepted", tries: "the digest that somebody accepted is that of another ticket's contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			digest := r.digest()
			r.more("reword", agreement(softer))
			return r, []string{"7", "--accept-contract", digest}
		},
		want: "refused contract_changed", without: pinnedContract,
	},
	{
		name: "default branch moved", tries: "main is moved onto the ticket's branch, so that nothing is the ticket's own; what was agreed is pinned",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			digest := r.digest()
			r.more("reword", agreement(softer))
			r.git("merge", "-q", "--ff-only", "trkr/7")
			return r, []string{"7", "--contract-digest", digest}
		},
		want: "refused contract_changed", without: pinnedContract,
	},
	{
		name: "contract softened in the issue", tries: "history is written anew, and the issue still says what was agreed",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, softer, nil, nil)
			return r, []string{"7", "--issue-body", r.plant("body", "## Validation contract\n\n- "+agreed)}
		},
		want: "refused contract_changed", without: agreeingIssue,
	},
	{
		name: "contract removed for the issue's", tries: "contract.md is removed after the code, and the issue made softer",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.git("checkout", "-q", "trkr/7")
			r.git("rm", "-q", ".trkr/tickets/7/contract.md")
			r.commit("the issue has it", nil)
			r.git("checkout", "-q", "main")
			return r, []string{"7", "--issue-body", r.plant("body", "## Validation contract\n\n- "+softer)}
		},
		want: "refused contract_changed", without: changedContract,
	},
	{
		name: "contract spoilt for the issue's", tries: "contract.md is made unreadable, so that a softer one in the issue counts",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.more("reword", agreement("see the issue\n"))
			return r, []string{"7", "--issue-body", r.plant("body", "## Validation contract\n\n- "+softer)}
		},
		want: "refused contract_invalid", without: noFallBack,
	},
	{
		name: "contract without an assertion", tries: "the contract asks for nothing",
		prepare: func(t *testing.T) (*repo, []string) { return ticketed(t, "\n\n", nil, nil), nil },
		want:    "refused contract_invalid", without: someAssertion,
	},
	{
		name: "contract of the worktree", tries: "a softer contract.md lies in the worktree and is not committed; --allow-dirty is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(agreement(softer))
			return r, []string{"7", "--allow-dirty"}
		},
		want: "blocking", without: committedContract,
	},
	{
		name: "contract as a link", tries: "contract.md is a link to a file that is called like a softer contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := started(t, nil)
			r.git("checkout", "-q", "-b", "trkr/7")
			r.write(files{"tool.sh": broken + "#\n", ".trkr/tickets/7/spec.md": "see the contract\n"})
			if err := os.Symlink(strings.TrimSpace(softer), filepath.Join(r.dir, ".trkr/tickets/7/contract.md")); err != nil {
				t.Fatal(err)
			}
			r.git("add", ".trkr")
			r.git("commit", "-qm", "contract")
			r.commit("code", nil)
			r.git("checkout", "-q", "main")
			return r, nil
		},
		want: "refused contract_invalid", without: regularContract,
	},
	{
		name: "contract by a replace ref", tries: "refs/replace shows a softer contract in the commit that agreed it",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.softenByReplacing()
			return r, nil
		},
		want: "refused contract_changed", without: noReplaceRefs,
	},
	{
		name: "git of the branch", tries: "a git that the branch holds, in a folder that is on PATH, shows that softer contract",
		prepare: func(t *testing.T) (*repo, []string) {
			real, err := exec.LookPath("git")
			if err != nil {
				t.Fatal(err)
			}
			lying := "#!/bin/sh\nunset GIT_NO_REPLACE_OBJECTS\nexec '" + real + "' \"$@\"\n"
			r := ticketed(t, agreed, files{"bin/git": lying}, nil)
			r.softenByReplacing()
			r.git("checkout", "-q", "trkr/7")
			r.env = append(r.env, "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"))
			return r, nil
		},
		want: "refused contract_changed", without: othersGit,
	},
	{
		name: "contract by a graft", tries: ".git/info/grafts gives the code another parent, which has the softer contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			code := r.git("rev-parse", "trkr/7")
			r.git("checkout", "-q", "-b", "soft", "main")
			r.commit("agree", agreement(softer))
			soft := r.git("rev-parse", "soft")
			r.git("checkout", "-q", "main")
			r.more("reword", agreement(softer))
			r.write(files{".git/info/grafts": code + " " + soft + "\n"})
			return r, nil
		},
		want: "refused contract_changed", without: noGrafts,
	},
	{
		name: "history cut off", tries: ".git/shallow hides all that was before the contract was softened",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.more("reword", agreement(softer))
			r.write(files{".git/shallow": r.git("rev-parse", "trkr/7") + "\n"})
			return r, nil
		},
		want: "error history_missing", without: wholeHistory,
	},
	{
		name: "tag named like the branch", tries: "a tag called trkr/7 shows another history with a softer contract",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.git("checkout", "-q", "-b", "soft", "main")
			r.commit("agree", agreement(softer))
			r.commit("code", files{"tool.sh": broken + "#\n"})
			r.git("tag", "trkr/7")
			r.git("checkout", "-q", "main")
			return r, []string{"7", "--no-commit"}
		},
		want: "blocking", without: fullNames,
	},
	{
		name: "two branches", tries: "a second branch of the issue stands first in the list",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			r.git("branch", "-m", "trkr/7", "trkr/7-tool")
			r.git("checkout", "-q", "-b", "trkr/7-a", "main")
			r.commit("agree", agreement(softer))
			r.commit("code", files{"tool.sh": broken + "#\n"})
			r.git("checkout", "-q", "main")
			return r, []string{"7", "--no-commit"}
		},
		want: "refused branch_ambiguous", without: oneBranch,
	},
	{
		name: "issue id with a path", tries: "the issue is called so that its folder is one of the implementer's",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"soft/contract.md": softer}, nil)
			return r, []string{"../../soft", "--ref", "trkr/7"}
		},
		want: "error issue_invalid", without: plainIssue,
	},
	{
		name: "contract in another case", tries: "CONTRACT.md, softer, stands where a person reads it for contract.md",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, agreed, files{".trkr/tickets/7/CONTRACT.md": softer, ".trkr/Tickets/7/contract.md": softer}, nil), nil
		},
		want: "blocking", without: committedNames,
	},
}

// Names are read without their case.
var committedNames = &defence{edits: []edit{{"ticket/tree.go", "objects, err := r.objects(ctx, append(chainOf(commit, names), commit+\":\"+file))\n", `all, _ := r.git.line(ctx, call{at: r.shared(), args: []string{"ls-tree", "-r", "--name-only", "--full-tree", "--end-of-options", commit}})
	for name := range strings.SplitSeq(all, "\n") {
		if strings.EqualFold(name, file) {
			file, names = name, strings.Split(name, "/")
			break
		}
	}
	objects, err := r.objects(ctx, append(chainOf(commit, names), commit+":"+file))
`}}}

// The first git on PATH is taken.
var othersGit = &defence{edits: []edit{{"ticket/lookup.go", "if err == nil && !slices.ContainsFunc(", "if err == nil || !slices.ContainsFunc("}}}

// softenByReplacing softens the contract after the code, and lets refs/replace show it in the commit that agreed it.
func (r *repo) softenByReplacing() {
	r.t.Helper()
	first := r.git("rev-parse", "trkr/7~")
	r.more("reword", agreement(softer))
	r.git("checkout", "-q", "-b", "soft", "main")
	r.commit("agree", agreement(softer))
	r.git("replace", first, "soft")
	r.git("checkout", "-q", "main")
}

// digest is that of the contract as the ticket's branch has it.
func (r *repo) digest() string {
	r.t.Helper()
	_, stdout, stderr := r.call("contract", "show", "7")
	_, rest, ok := strings.Cut(stdout, "digest  ")
	if !ok {
		r.t.Fatalf("no digest: %s%s", stdout, stderr)
	}
	digest, _, _ := strings.Cut(rest, "\n")
	return digest
}
