package ticket

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// StageDocuments are the files of a ticket's folder that may be committed before its contract is fixed. The record is
// one of them: it is ours, and a run may have come before the code.
var StageDocuments = []string{ContractName, "spec.md", "diagnosis.md", RecordName}

// Agreed is a contract that somebody outside the branch has agreed to, by its digest. Empty: nobody has.
type Agreed struct {
	Digest string
	By     string // verdict.AcceptedByDigest or verdict.AcceptedByPerson
}

// Fixed makes sure that the contract was agreed before the code. With a digest agreed, the contract has to have it, and
// history is not asked. Else each first commit of the ticket's own (not on the default branch) that touches anything but
// the ticket's stage documents fixes the contract, which has to be what stood before that commit, in its first parent.
// Between a commit's parents a merge chooses; only what it has from none of them is its own.
//
// And where the default branch holds a contract for the ticket, that one was agreed: the contract has to be the same.
//
// A contract that changed, or came later, is a *verdict.Refusal. History that is not here is a fault of the
// environment. A contract out of an issue's body is bound by the history only where contract.md stood there before the
// code. The note, where not empty, says what the history of a commit on the default branch cannot tell.
func (r *Repo) Fixed(ctx context.Context, t *Ticket, text Text, agreed Agreed) (note string, err error) {
	digest := text.Contract.Digest()
	if agreed.Digest != "" {
		if agreed.Digest != digest {
			return "", &verdict.Refusal{Reason: verdict.ContractChanged,
				Detail: fmt.Sprintf("the contract of issue %s is %s, and %s was agreed", t.Issue, digest, agreed.Digest),
				Hints:  []string{"trkr-validate contract show " + t.Issue + " prints it; bring back what was agreed, or have the new one agreed"}}
		}
		return "", nil
	}
	commits, left, err := r.fixing(ctx, t)
	if f := fault.Of(err); f != nil && (f.Code == codeHistory || f.Code == codeBase) {
		if text.Source == SourceIssue {
			return "", nil // the branch does not hold it, so its history has no say
		}
		return "", fault.Env(f.Code, err, append(f.Hints, "or pin what was agreed with --contract-digest; the contract here has "+digest)...)
	} else if err != nil {
		return "", err
	}
	if left != nil {
		return "", r.unchanged(ctx, t, text, left, commits)
	}
	if text.Source == SourceCommit {
		note = fmt.Sprintf("%s is on the default branch: its history does not tell whether the contract was agreed before the code", short(t.Commit))
	}
	return note, nil
}

// fixer is a commit that fixes the contract.
type fixer struct {
	commit string
	before string   // its first parent; empty for a root
	paths  []string // what it touches besides stage documents
}

const (
	codeHistory = "history_missing"
	codeBase    = "default_branch_unknown"
)

// fixing finds the commits that fix the contract: all that have no other before them. A branch without merges has at
// most one. left are the commits of the default branch that the ticket's own build on; nil where it has none of its own.
func (r *Repo) fixing(ctx context.Context, t *Ticket) (found []fixer, left []string, err error) {
	if len(t.tips) == 0 {
		return nil, nil, noBase(t.base)
	}
	args := append([]string{"rev-list", "--topo-order", "--reverse", "--parents", "--boundary", t.Commit, "--not"}, t.tips...)
	out, err := r.git.output(ctx, call{at: r.shared(), args: args})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the ticket's history: %w", err)
	}
	own := false
	after := map[string]bool{} // commits that are fixers or have one before them
	lines := strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	touched := map[string][]string{}
	for i, line := range lines {
		if line == "" {
			break // none at all
		}
		if edge, ok := strings.CutPrefix(line, "-"); ok {
			left = append(left, strings.Fields(edge)[0])
			continue
		}
		own = true
		parents := strings.Fields(line)
		commit, parents := parents[0], parents[1:]
		if len(parents) == 0 {
			if err := r.whole(ctx); err != nil {
				return nil, nil, err
			}
		}
		if slices.ContainsFunc(parents, func(p string) bool { return after[p] }) {
			after[commit] = true
			continue
		}
		if err := r.touched(ctx, touched, lines[i:]); err != nil {
			return nil, nil, err
		}
		paths := slices.DeleteFunc(touched[commit], func(p string) bool {
			dir, name := path.Split(p)
			return dir == t.Dir+"/" && slices.Contains(StageDocuments, name)
		})
		if len(paths) > 0 {
			after[commit] = true
			found = append(found, fixer{commit, append(parents, "")[0], paths})
		}
	}
	if own {
		return found, append([]string{}, left...), nil // not nil
	}
	return found, nil, nil
}

func noBase(name string) error {
	if name != "" {
		return fault.Envf(codeBase, []string{fmt.Sprintf("fetch it: git fetch origin %s:refs/remotes/origin/%s", name, name)},
			"the default branch %q is not here, so nothing tells where the ticket's own commits begin", name)
	}
	return fault.Envf(codeBase, append([]string{"fetch the default branch, in CI with fetch-depth: 0"}, nameBase...),
		"nothing tells which branch is the default one, so not where the ticket's own commits begin")
}

// whole makes sure that a commit without parents has none, and is not only where a shallow clone ends.
func (r *Repo) whole(ctx context.Context) error {
	shallow, err := r.shallow(ctx)
	if err == nil && shallow {
		err = fault.Envf(codeHistory, []string{"fetch all of it: git fetch --unshallow, in CI fetch-depth: 0"},
			"the clone is shallow: whether the contract was agreed before the code cannot be seen in it")
	}
	return err
}

func (r *Repo) shallow(ctx context.Context) (bool, error) {
	out, err := r.git.line(ctx, call{at: r.shared(), args: []string{"rev-parse", "--is-shallow-repository"}})
	return out == "true", err
}

// touchedAtOnce is of how many commits it is asked what they touch: mostly the second of a ticket's own fixes its contract.
const touchedAtOnce = 4

// touched adds to known what the commit of the first line changes, and those of a few more lines; of a merge, what it has
// from none of its parents. It does nothing where that is known.
func (r *Repo) touched(ctx context.Context, known map[string][]string, lines []string) error {
	var asked []string
	for _, line := range lines[:min(len(lines), touchedAtOnce)] {
		if commit := strings.Fields(line)[0]; !strings.HasPrefix(commit, "-") {
			asked = append(asked, commit)
		}
	}
	if _, ok := known[asked[0]]; ok {
		return nil
	}
	out, err := r.git.output(ctx, call{
		at: r.shared(), stdin: strings.NewReader(strings.Join(asked, "\n") + "\n"),
		args: []string{"diff-tree", "--stdin", "-z", "-r", "-c", "--root", "--raw", "--no-renames", "--ignore-submodules=none"},
	})
	if err != nil && len(asked) > 1 { // it may be another one that is not here
		return r.touched(ctx, known, lines[:1])
	} else if err != nil {
		return partial(err)
	}
	for _, commit := range asked {
		known[commit] = nil
	}
	commit, change := "", false
	for field := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		switch {
		case change:
			known[commit] = append(known[commit], field)
			change = false
		case strings.HasPrefix(field, ":"):
			change = true // its path follows
		default:
			commit = field
		}
	}
	return nil
}

// partial is the error of reading an old commit: in a partial clone it may be missing.
func partial(err error) error {
	if f := fault.Of(err); f == nil || f.Code != codeObjects && f.Code != codeFailed {
		return err
	}
	return fault.Env(codeHistory, fmt.Errorf("reading the ticket's history: %w", err), "clone without --filter: what old commits hold is needed, and nothing is fetched here")
}

// unchangedSince compares the contract, ours, with what stood before c.
func unchangedSince(t *Ticket, text Text, ours, stood version, c fixer) error {
	switch {
	case stood.id == ours.id && text.Source == SourceCommit:
		return nil // it need not be here
	case stood.err != nil:
		return partial(stood.err)
	}
	file := path.Join(t.Dir, ContractName)
	digest := text.Contract.Digest()
	accept := acceptHint(digest)
	code := fmt.Sprintf("%s, which touches %s,", short(c.commit), few(c.paths))
	before := stood.contract
	switch {
	case before == nil && text.Source == SourceIssue:
		return nil
	case before == nil:
		return &verdict.Refusal{Reason: verdict.ContractChanged,
			Detail: fmt.Sprintf("%s was not there before commit %s and so not before the code:\n%s", file, code, changes(contract.Contract{}, text.Contract)),
			Hints:  []string{"commit the contract alone, before anything else", accept}}
	case before.Digest() != digest:
		return &verdict.Refusal{Reason: verdict.ContractChanged,
			Detail: fmt.Sprintf("%s is not what stood there before commit %s fixed it:\n%s", file, code, changes(*before, text.Contract)),
			Hints:  []string{fmt.Sprintf("bring back what was agreed: git checkout %s -- %s, and commit it", short(c.before), shellQuote(file)), accept}}
	}
	return nil
}

func acceptHint(digest string) string {
	return fmt.Sprintf("if what stands there now was agreed: --contract-digest %s where a program knows that, --accept-contract %s where a person decides it", digest, digest)
}

// changes tells assertion by assertion how a contract became another one.
func changes(before, now contract.Contract) string {
	return strings.Join(differences(before, now, "%s was removed: %q", "%s was %q and is %q", "%s was added: %q"), "\n")
}

// few names the first paths of a list.
func few(paths []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", p))
	}
	if more := len(paths) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), more)
	}
	return strings.Join(quoted, ", ")
}
