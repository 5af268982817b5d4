package ticket

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const (
	contractFile = ".trkr/tickets/7/contract.md"
	softText     = "VAL-1: `app` prints something\n"
)

// story is a history that a test tells step by step, on trkr/7 unless it says otherwise.
type story struct {
	t   *testing.T
	dir string
}

// newStory starts on a trkr/7 that has nothing of its own.
func newStory(t *testing.T) *story {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	git(t, dir, "reset", "-q", "--hard", "main")
	return &story{t, dir}
}

func (s *story) git(args ...string) string { s.t.Helper(); return git(s.t, s.dir, args...) }

// commit writes files, given as path and content, and commits them.
func (s *story) commit(files ...string) {
	s.t.Helper()
	for i := 0; i < len(files); i += 2 {
		write(s.t, filepath.Join(s.dir, files[i]), files[i+1])
		s.git("add", "-f", files[i])
	}
	s.git("commit", "-q", "--allow-empty", "-m", "change")
}

func (s *story) contract(text string) { s.t.Helper(); s.commit(contractFile, text) }
func (s *story) code(name string) {
	s.t.Helper()
	s.commit("src/"+name+".go", "package a // "+name+"\n")
}

// on does something on another branch, made at from, and comes back.
func (s *story) on(branch, from string, do func()) {
	s.t.Helper()
	s.git("checkout", "-q", "-B", branch, from)
	do()
	s.git("checkout", "-q", "trkr/7")
}

// merge merges a branch; files, where given, are what the merge itself writes.
func (s *story) merge(branch string, files ...string) {
	s.t.Helper()
	_, _ = tryGit(s.dir, "merge", "-q", "--no-ff", "--no-commit", branch) // a conflict is what files resolve
	s.commit(files...)
}

func (s *story) fixed(agreed Agreed) (string, error) {
	s.t.Helper()
	r := open(s.t, s.dir)
	t := resolve(s.t, r, Query{Issue: "7"})
	text, err := r.Contract(context.Background(), t, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Fixed(context.Background(), t, text, agreed)
}

func TestContractIsFixedBeforeTheCode(t *testing.T) {
	const two = contractText + "VAL-2: `app` fails\n"
	for name, c := range map[string]struct {
		tell func(s *story)
		says []string // of the refusal; empty: there is none
	}{
		"contract, then code":      {func(s *story) { s.contract(contractText); s.code("x") }, nil},
		"no code yet":              {func(s *story) { s.contract(contractText) }, nil},
		"reworded before the code": {func(s *story) { s.contract(softText); s.contract(contractText); s.code("x"); s.code("y") }, nil},
		"other bytes, same words": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.contract("\nVAL-1: `app` prints\n   `hello`\n")
		}, nil},
		"changed and changed back":   {func(s *story) { s.contract(contractText); s.code("x"); s.contract(softText); s.contract(contractText) }, nil},
		"an empty commit is no code": {func(s *story) { s.commit(); s.contract(contractText); s.code("x") }, nil},
		"stage documents are no code": {func(s *story) {
			s.commit(".trkr/tickets/7/spec.md", "s", ".trkr/tickets/7/diagnosis.md", "d", ".trkr/tickets/7/validation.md", "v")
			s.contract(contractText)
			s.code("x")
		}, nil},
		"already on the default branch, code in one commit": {func(s *story) {
			s.on("main", "main", func() { s.contract(contractText) })
			s.git("reset", "-q", "--hard", "main")
			s.code("x")
		}, nil},
		"the default branch merged before and after": {func(s *story) {
			s.on("main", "main", func() { s.code("m1") })
			s.merge("main")
			s.contract(contractText)
			s.on("main", "main", func() { s.code("m2") })
			s.merge("main")
			s.code("x")
			s.on("main", "main", func() { s.code("m3") })
			s.merge("main")
		}, nil},
		"merged the other way round": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.on("main", "main", func() { s.code("m") })
			s.on("turned", "main", func() { s.merge("trkr/7") })
			s.git("reset", "-q", "--hard", "turned")
		}, nil},
		"rebased": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.on("main", "main", func() { s.code("m") })
			s.git("rebase", "-q", "main")
		}, nil},
		"a side branch from after the contract": {func(s *story) {
			s.contract(contractText)
			s.on("side", "trkr/7", func() { s.code("x") })
			s.code("y")
			s.merge("side")
		}, nil},
		"a merge that only resolves code": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.on("main", "main", func() { s.commit("src/x.go", "package m\n") })
			s.merge("main", "src/x.go", "package both\n")
		}, nil},

		"softened in a commit of its own": {func(s *story) { s.contract(contractText); s.code("x"); s.contract(softText) },
			[]string{"is not what stood there before commit", `"src/x.go"`, "VAL-1 was \"`app` prints `hello`\" and is \"`app` prints something\""}},
		"an assertion removed, one added": {func(s *story) { s.contract(two); s.code("x"); s.contract("VAL-1: `app` prints `hello`\nVAL-3: new\n") },
			[]string{"VAL-2 was removed: \"`app` fails\"", `VAL-3 was added: "new"`}},
		"another order":                   {func(s *story) { s.contract(two); s.code("x"); s.contract("VAL-2: `app` fails\n" + contractText) }, []string{"another order"}},
		"after the code":                  {func(s *story) { s.code("x"); s.contract(contractText) }, []string{"was not there before commit", "VAL-1 was added"}},
		"with the code (squash)":          {func(s *story) { s.commit(contractFile, contractText, "src/x.go", "package x\n") }, []string{"was not there before commit"}},
		"what stood before was none":      {func(s *story) { s.contract("prose\n"); s.code("x"); s.contract(contractText) }, []string{"was not there before commit"}},
		"configuration counts as code":    {func(s *story) { s.commit(".trkr/config.json", "{}"); s.contract(contractText) }, []string{`".trkr/config.json"`}},
		"other files of the folder count": {func(s *story) { s.commit(".trkr/tickets/7/plan.md", "p"); s.contract(contractText) }, []string{`plan.md"`}},
		"stage documents of others count": {func(s *story) {
			s.commit(".trkr/tickets/8/spec.md", "p", "a", "", "b", "", "c", "")
			s.contract(contractText)
		}, []string{`8/spec.md"`, "and 1 more"}},
		"deeper ones count": {func(s *story) { s.commit(".trkr/tickets/7/x/spec.md", "p"); s.contract(contractText) }, []string{`7/x/spec.md"`}},
		"a mode counts":     {func(s *story) { s.git("update-index", "--chmod=+x", "src/a.go"); s.commit(); s.contract(contractText) }, []string{"src/a.go"}},
		"a removal counts":  {func(s *story) { s.git("rm", "-q", "src/a.go"); s.commit(); s.contract(contractText) }, []string{"src/a.go"}},
		"the folder is another one now": {func(s *story) {
			s.commit(".trkr/old/7/contract.md", contractText)
			s.code("x")
			s.git("mv", ".trkr/old", ".trkr/tickets")
			s.commit()
		}, []string{"was not there before"}},
		"a submodule that hides": {func(s *story) {
			s.commit(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ./m\n\tignore = all\n")
			s.on("main", "trkr/7", func() {}) // so far it is the default branch's
			s.git("update-index", "--add", "--cacheinfo", "160000,"+s.git("rev-parse", "HEAD")+",m")
			s.commit()
			s.contract(contractText)
		}, []string{`"m"`}},
		"softened in a merge": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.on("main", "main", func() { s.code("m") })
			s.merge("main", contractFile, softText)
		}, []string{"prints something"}},
		"a merge that holds code of its own": {func(s *story) {
			s.on("main", "main", func() { s.code("m") })
			s.on("side", "main^", func() { s.contract(contractText) })
			s.merge("main", "src/evil.go", "package e\n", contractFile, contractText)
		}, []string{"src/evil.go"}},
		"a merge that removes code": {func(s *story) {
			s.on("main", "main", func() { s.code("m") })
			s.git("merge", "-q", "--no-ff", "--no-commit", "main")
			s.git("rm", "-qf", "src/a.go")
			s.commit()
			s.contract(contractText)
		}, []string{"src/a.go"}},
		"changed on the default branch, then merged": {func(s *story) {
			s.on("main", "main", func() { s.contract(contractText) })
			s.git("reset", "-q", "--hard", "main")
			s.code("x")
			s.on("main", "main", func() { s.contract(softText) })
			s.merge("main")
		}, []string{"prints something"}},
		"softened beside the old history, which is merged": {func(s *story) {
			s.contract(contractText)
			s.code("x")
			s.on("new", "main", func() { s.contract(softText); s.merge("trkr/7", contractFile, softText) })
			s.git("merge", "-q", "--ff-only", "new")
		}, []string{"prints something"}},
		"code of a side branch is older": {func(s *story) {
			s.on("side", "main", func() { s.code("x") })
			s.contract(contractText)
			s.merge("side")
		}, []string{"was not there before", "src/x.go"}},
		"revised on the default branch, merged before the code": {func(s *story) {
			s.on("main", "main", func() { s.contract(softText) })
			s.git("reset", "-q", "--hard", "main")
			s.on("main", "main", func() { s.contract(contractText) })
			s.merge("main")
			s.code("x")
		}, nil},
		"taken off the default branch afterwards": {func(s *story) {
			s.on("main", "main", func() { s.contract(contractText) })
			s.git("reset", "-q", "--hard", "main")
			s.code("x")
			s.on("main", "main", func() { s.git("rm", "-q", contractFile); s.commit() })
		}, nil},
		"prose on the default branch is no contract": {func(s *story) {
			s.on("main", "main", func() { s.contract("prose\n") })
			s.git("reset", "-q", "--hard", "main")
			s.contract(contractText)
			s.code("x")
		}, nil},
		"what was seen here is older than what was fetched": {func(s *story) {
			s.on("newer", "main", func() { s.contract(softText); s.git("branch", "-qf", "main"); s.contract(contractText) })
			s.git("remote", "add", "origin", s.dir)
			s.git("update-ref", "refs/remotes/origin/main", "newer")
			s.git("reset", "-q", "--hard", "newer")
			s.code("x")
		}, nil},

		"softened before the code, agreed on the default branch": {func(s *story) {
			s.on("main", "main", func() { s.contract(contractText) })
			s.git("reset", "-q", "--hard", "main")
			s.contract(softText)
			s.code("x")
		}, []string{`is not what "main", the default branch, holds`, "VAL-1 was \"`app` prints `hello`\" and is"}},
		"agreed on the default branch later, and merged without it": {func(s *story) {
			s.contract(softText)
			s.code("x")
			s.on("main", "main", func() { s.contract(contractText) })
			s.merge("main", contractFile, softText)
		}, []string{`"main", the default branch`}},
		"agreed on the default branch later, and never merged": {func(s *story) {
			s.contract(softText)
			s.code("x")
			s.on("main", "main", func() { s.contract(contractText) })
		}, []string{`"main", the default branch`}},
		"agreed on what was fetched only": {func(s *story) {
			s.contract(softText)
			s.code("x")
			s.on("newer", "main", func() { s.contract(contractText) })
			s.git("remote", "add", "origin", s.dir)
			s.git("update-ref", "refs/remotes/origin/main", "newer")
		}, []string{`"main", the default branch`}},
		"softened, and taken off the default branch afterwards": {func(s *story) {
			s.on("main", "main", func() { s.contract(contractText) })
			s.git("reset", "-q", "--hard", "main")
			s.contract(softText)
			s.code("x")
			s.on("main", "main", func() { s.git("rm", "-q", contractFile); s.commit() })
		}, []string{`"main", the default branch`}},
		"another history": {func(s *story) {
			s.git("checkout", "-q", "--orphan", "new")
			s.commit()
			s.contract(contractText)
			s.git("checkout", "-q", "-B", "trkr/7")
		}, []string{"was not there before", "src/a.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			c.tell(s)
			note, err := s.fixed(Agreed{})
			if note != "" {
				t.Errorf("noted %q", note)
			}
			if c.says == nil {
				wantReasons(t, err)
				return
			}
			got := wantReasons(t, err, verdict.ContractChanged)[0]
			for _, want := range c.says {
				if !strings.Contains(got.Detail, want) {
					t.Errorf("%q does not say %q", got.Detail, want)
				}
			}
			if all := strings.Join(got.Hints, "\n"); !strings.Contains(all, "--contract-digest sha256:") || !strings.Contains(all, "--accept-contract sha256:") {
				t.Errorf("hints %q", got.Hints)
			}
		})
	}
}

func TestContractOfTheDefaultBranchIsNoted(t *testing.T) {
	s := newStory(t)
	s.code("x")
	s.contract(contractText)
	s.git("branch", "-qf", "main")
	if note, err := s.fixed(Agreed{}); err != nil || !strings.Contains(note, "on the default branch") {
		t.Errorf("%q, %v", note, err)
	}
}

func TestHistoryIsWhatItsObjectsSay(t *testing.T) {
	s := newStory(t)
	s.contract(contractText)
	first := s.git("rev-parse", "HEAD")
	s.code("x")
	code := s.git("rev-parse", "HEAD")
	s.contract(softText)
	s.git("commit-graph", "write", "--reachable")
	// What is shown to others begins with the softer contract.
	s.git("replace", "--graft", "HEAD", "main")
	write(t, filepath.Join(s.dir, ".git/info/grafts"), s.git("rev-parse", "HEAD")+" "+s.git("rev-parse", "main")+"\n")
	_, err := s.fixed(Agreed{})
	wantReasons(t, err, verdict.ContractChanged)
	// History that is cut is history that is missing, wherever the cut is.
	for _, at := range []string{"HEAD", code, first} {
		write(t, filepath.Join(s.dir, ".git/shallow"), s.git("rev-parse", at)+"\n")
		_, err = s.fixed(Agreed{})
		wantFault(t, err, codeHistory)
	}
}

func TestShallowHistory(t *testing.T) {
	s := newStory(t)
	s.contract(contractText)
	s.code("x")
	s.code("y")
	s.git("checkout", "-q", "main")
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		args  []string
		fault string
	}{
		"one commit":           {[]string{"--depth=1", "--no-single-branch"}, codeHistory},
		"down to the contract": {[]string{"--depth=3", "--no-single-branch"}, codeHistory},
		"down to main":         {[]string{"--depth=4", "--no-single-branch"}, ""},
		"one branch":           {[]string{"--single-branch"}, codeBase},
		"all":                  {nil, ""},
		"no blobs":             {[]string{"--filter=blob:none", "--no-checkout"}, ""},
		"no trees":             {[]string{"--filter=tree:0", "--no-checkout"}, codeHistory},
	} {
		t.Run(name, func(t *testing.T) {
			git(t, s.dir, "config", "uploadpack.allowFilter", "true")
			clone := filepath.Join(tempDir(t), "c")
			git(t, "/", append(append([]string{"clone", "-q", "-b", "trkr/7"}, c.args...), "file://"+s.dir, clone)...)
			here := &story{t, clone}
			here.git("cat-file", "-p", "HEAD:"+contractFile) // in a partial clone this fetches it, as a checkout would
			here.git("rev-parse", "HEAD^{tree}", "HEAD:.trkr/tickets/7")
			note, err := here.fixed(Agreed{})
			switch {
			case c.fault == "":
				if err != nil || note != "" {
					t.Errorf("%q, %v", note, err)
				}
				return
			case c.fault == codeBase:
				wantFault(t, err, codeBase)
			default:
				wantFault(t, err, codeHistory)
			}
			if err != nil && !strings.Contains(hintsOf(err), "--contract-digest") {
				t.Errorf("hints %q", hintsOf(err))
			}
			_, err = here.fixed(Agreed{Digest: digest})
			wantReasons(t, err, verdict.ContractChanged)
			_, err = here.fixed(Agreed{Digest: parsed(t, contractText).Digest(), By: verdict.AcceptedByDigest})
			wantReasons(t, err)
		})
	}
}

func TestAgreedDigestDecides(t *testing.T) {
	s := newStory(t)
	s.code("x")
	s.contract(contractText)
	digest, other := parsed(t, contractText).Digest(), parsed(t, softText).Digest()
	if _, err := s.fixed(Agreed{Digest: digest, By: verdict.AcceptedByPerson}); err != nil {
		t.Error(err)
	}
	_, err := s.fixed(Agreed{Digest: other})
	for _, r := range wantReasons(t, err, verdict.ContractChanged) {
		if !strings.Contains(r.Detail, digest) || !strings.Contains(r.Detail, other) {
			t.Errorf("%q does not name both", r.Detail)
		}
	}
}

// The issue is not in the branch, but a contract that was agreed in the branch is not lost by taking it out.
func TestContractOfTheIssue(t *testing.T) {
	s := newStory(t)
	s.code("x")
	ask := func() error {
		r := open(t, s.dir)
		text := Text{Contract: parsed(t, softText), Source: SourceIssue}
		_, err := r.Fixed(context.Background(), resolve(t, r, Query{Issue: "7"}), text, Agreed{})
		return err
	}
	wantReasons(t, ask())
	s.git("reset", "-q", "--hard", "main")
	s.contract(contractText)
	s.code("x")
	s.git("rm", "-q", contractFile)
	s.commit()
	wantReasons(t, ask(), verdict.ContractChanged)
	s.git("reset", "-q", "--hard", "HEAD~2")
	s.contract(softText)
	s.code("x")
	s.git("rm", "-q", contractFile)
	s.commit()
	wantReasons(t, ask())
	write(t, filepath.Join(s.dir, ".git/shallow"), s.git("rev-parse", "HEAD")+"\n")
	wantReasons(t, ask())
}

func TestDefaultBranchThatIsNotHere(t *testing.T) {
	s := newStory(t)
	s.contract(contractText)
	r := open(t, s.dir)
	for _, base := range []string{"develop", "origin/main"} {
		tk := resolve(t, r, Query{Base: base})
		text, err := r.Contract(context.Background(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Fixed(context.Background(), tk, text, Agreed{})
		wantFault(t, err, codeBase)
	}
}

// A fork that somebody added as a remote does not say what the default branch holds.
func TestTipsOfTheDefaultBranch(t *testing.T) {
	at := func(remote, short, commit string) ref { return ref{remote: remote, short: short, commit: commit} }
	here, origin, fork, other := at("", "main", "h"), at("origin", "main", "o"), at("fork", "main", "f"), at("other", "main", "x")
	for name, c := range map[string]struct {
		refs  []ref
		given string
		want  string
	}{
		"here and origin's": {[]ref{here, origin, fork}, "", "ho"},
		"only origin's":     {[]ref{origin, fork}, "", "o"},
		"the one remote's":  {[]ref{fork}, "", "f"},
		"of two, none":      {[]ref{fork, other}, "", ""},
		"not beside origin": {[]ref{fork, at("origin", "x", "o")}, "main", ""},
		"a remote is named": {[]ref{here, origin, other}, "other/main", "hx"},
		"another branch":    {[]ref{at("", "x", "h")}, "", ""},
	} {
		if got := strings.Join(tipsOf(c.refs, "main", c.given), ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := tipsOf([]ref{at("", "", "h")}, "", ""); len(got) != 0 {
		t.Errorf("no default branch has tips %q", got)
	}
}

func parsed(t *testing.T, text string) contract.Contract {
	t.Helper()
	c, err := contract.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hintsOf(err error) string { return strings.Join(fault.Of(err).Hints, "\n") }
