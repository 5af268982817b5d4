package ticket

import (
	"context"
	"testing"
)

// What people name is never another thing because somebody pushed a tag or a branch of that name.
func TestRevisionIsNoOtherThanMeant(t *testing.T) {
	s := newStory(t)
	s.code("x")
	s.git("remote", "add", "origin", s.dir)
	short := s.git("rev-parse", "--short=8", "main")
	evil, main := s.git("rev-parse", "HEAD"), s.git("rev-parse", "main")
	for ref, commit := range map[string]string{
		"refs/remotes/origin/main":  main,
		"refs/tags/origin/main":     evil,
		"refs/tags/main":            evil,
		"refs/remotes/origin/v1":    main,
		"refs/tags/v1":              evil,
		"refs/tags/origin/gone":     evil,
		"refs/tags/refs/heads/gone": evil,
		"refs/remotes/origin/HEAD":  evil,
		"refs/tags/HEAD":            main,
		"refs/tags/v2":              main,
		"refs/heads/v2":             main,
		"refs/heads/0000":           main,
		"refs/heads/" + short:       evil,
	} {
		s.git("update-ref", ref, commit)
	}
	s.git("tag", "-f", "-a", "-m", "two", "v2", main)
	s.git("pack-refs", "--all")
	r := open(t, s.dir)
	ctx := context.Background()
	for _, rev := range []string{"origin/main", "origin/main~0", "origin/main^{commit}", "main", "main@{0}", "v1", "origin/gone", "refs/heads/gone", "origin", "origin/HEAD", ":/change", short} {
		t.Log(rev)
		_, err := r.Commit(ctx, rev)
		wantFault(t, err, codeAmbiguous)
		_, err = r.Locate(ctx, Query{Issue: "7", Ref: rev})
		wantFault(t, err, codeAmbiguous)
	}
	for rev, want := range map[string]string{
		"HEAD": evil, "@": evil, evil: evil, "trkr/7": evil, "refs/tags/main": evil,
		"refs/heads/main": main, "heads/main": main, "refs/remotes/origin/main": main, "remotes/origin/main": main, "v2": main, "0000": main,
	} {
		if got, err := r.Commit(ctx, rev); err != nil || got != want {
			t.Errorf("%s: %q, %v", rev, got, err)
		}
	}
}

// A clone of a checkout takes what was checked out there for the default branch.
func TestDefaultBranchIsNotTheTicketsOwn(t *testing.T) {
	s := newStory(t)
	s.contract(softText)
	s.code("x")
	s.git("remote", "add", "origin", s.dir)
	for _, branch := range []string{"trkr/7", "trkr/7-quick", "named"} {
		s.git("update-ref", "refs/remotes/origin/"+branch, "HEAD")
		s.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/"+branch)
		r := open(t, s.dir)
		q := Query{Issue: "7"}
		if branch == "named" {
			q.Branch = branch
		}
		_, err := r.Fork(context.Background(), s.git("rev-parse", "HEAD"), q)
		wantFault(t, err, codeBase)
		if branch != "named" {
			_, err = r.Locate(context.Background(), Query{Issue: "7", Ref: "HEAD"})
			wantFault(t, err, codeBase)
		}
		q.Base = "main"
		if got, err := r.Fork(context.Background(), s.git("rev-parse", "HEAD"), q); err != nil || got != s.git("rev-parse", "main") {
			t.Errorf("%s: %q, %v", branch, got, err)
		}
	}
}
