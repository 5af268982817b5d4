package ticket

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// forged makes an index entry that says: what stands at the path is what HEAD has there.
func forged(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, name)
	write(t, file, content)
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, past, past); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-f", name)
	index := filepath.Join(dir, ".git/index")
	altered, is := git(t, dir, "rev-parse", ":"+name), git(t, dir, "rev-parse", "HEAD:"+name)
	data := bytes.ReplaceAll([]byte(read(t, index)), unhex(t, altered), unhex(t, is))
	// The checksum is looked at by git fsck alone where it is zero.
	copy(data[len(data)-20:], make([]byte, 20))
	if err := os.WriteFile(index, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Fatalf("the forgery does not fool git: %q", got)
	}
}

func unhex(t *testing.T, id string) []byte {
	t.Helper()
	var b []byte
	if _, err := fmt.Sscanf(id, "%x", &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func commitAll(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "more")
}

func set(t *testing.T, dir string, settings ...string) {
	t.Helper()
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		git(t, dir, "config", key, value)
	}
}

// plantObject puts content under the name of another object.
func plantObject(t *testing.T, dir, id, kind, content string) {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00%s", kind, len(content), content)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".git/objects", id[:2], id[2:])
	_ = os.Remove(file)
	write(t, file, b.String())
}

const identLie = "$Id: ;echo good;exit 0;$\n"

// Each of these hides from git status, or from what the configuration makes of it, that the worktree is not as committed.
func TestWhatTheWorktreeHoldsIsProved(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, dir string)
		want  string
	}{
		"a forged index entry": {func(t *testing.T, dir string) { forged(t, dir, "src/a.go", "package b\n") }, "src/a.go"},
		"ident that stands for anything": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.sh ident\n")
			write(t, filepath.Join(dir, "t.sh"), "$Id$\n")
			commitAll(t, dir)
			write(t, filepath.Join(dir, "t.sh"), identLie)
		}, "t.sh"},
		"links as files": {func(t *testing.T, dir string) {
			link(t, "src/a.go", filepath.Join(dir, "l"))
			commitAll(t, dir)
			set(t, dir, "core.symlinks=false")
			_ = os.Remove(filepath.Join(dir, "l"))
			write(t, filepath.Join(dir, "l"), "src/a.go")
		}, "l"},
		"modes": {func(t *testing.T, dir string) {
			set(t, dir, "core.fileMode=false")
			if err := os.Chmod(filepath.Join(dir, "src/a.go"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "src/a.go"},
		"a folder as a link": {func(t *testing.T, dir string) {
			move(t, filepath.Join(dir, "docs"), filepath.Join(dir, "build"))
			link(t, "build", filepath.Join(dir, "docs"))
		}, "docs docs/x/y.txt"},
		"stat that is not looked at": {func(t *testing.T, dir string) {
			set(t, dir, "core.ignoreStat=true", "core.checkStat=minimal", "core.trustctime=false")
			info, _ := os.Stat(filepath.Join(dir, "src/a.go"))
			write(t, filepath.Join(dir, "src/a.go"), "package b\n")
			_ = os.Chtimes(filepath.Join(dir, "src/a.go"), info.ModTime(), info.ModTime())
		}, "src/a.go"},
		"line ends by configuration": {func(t *testing.T, dir string) {
			set(t, dir, "core.autocrlf=true", "core.eol=crlf")
			write(t, filepath.Join(dir, "src/a.go"), "package a\r\n")
			git(t, dir, "add", "src/a.go")
		}, "src/a.go"},
		"attributes that no commit holds": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git/info/attributes"), "*.go text eol=crlf\n")
			write(t, filepath.Join(dir, "src/a.go"), "package a\r\n")
			git(t, dir, "add", "src/a.go")
		}, "src/a.go"},
		"attributes that a setting names": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git/more"), "*.go working-tree-encoding=UTF-16LE\n")
			set(t, dir, "core.attributesFile="+filepath.Join(dir, ".git/more"))
			write(t, filepath.Join(dir, "src/a.go"), utf16("package a\n"))
		}, "src/a.go"},
		"another case": {func(t *testing.T, dir string) {
			set(t, dir, "core.ignoreCase=true", "core.precomposeUnicode=true")
			write(t, filepath.Join(dir, "SRC/a.go"), "package b\n")
			write(t, filepath.Join(dir, "BUILD/a.go"), "package b\n")
		}, "BUILD/a.go SRC/a.go"},
		"absent as in a sparse checkout": {func(t *testing.T, dir string) {
			git(t, dir, "sparse-checkout", "set", "--cone", "docs")
		}, ".trkr/tickets/7/contract.md src/a.go src/b.go"},
		"a file that is flagged as valid": {func(t *testing.T, dir string) {
			set(t, dir, "core.untrackedCache=true", "core.splitIndex=true", "feature.manyFiles=true")
			git(t, dir, "update-index", "--split-index", "--untracked-cache", "--assume-unchanged", "src/a.go")
			write(t, filepath.Join(dir, "src/a.go"), "package b\n")
			write(t, filepath.Join(dir, "src/new.go"), "package b\n")
		}, "src/a.go src/new.go"},
		"the index alone": {func(t *testing.T, dir string) {
			git(t, dir, "rm", "-q", "--cached", "src/a.go")
			git(t, dir, "update-index", "--chmod=+x", "src/b.go")
		}, "src/a.go src/b.go"},
		"excluded by what no commit holds": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git/info/exclude"), "*.c\n")
			write(t, filepath.Join(dir, ".git/more"), "*.h\n")
			set(t, dir, "core.excludesFile="+filepath.Join(dir, ".git/more"))
			write(t, filepath.Join(dir, "src/x.c"), "")
			write(t, filepath.Join(dir, "src/x.h"), "")
			write(t, filepath.Join(dir, "self/.gitignore"), "*\n")
			write(t, filepath.Join(dir, "build/ignored"), "")
		}, "self/.gitignore src/x.c src/x.h"},
		"a program in our folder": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".trkr/build.sh"), "true\n")
			git(t, dir, "add", "-f", ".trkr")
			git(t, dir, "commit", "-qm", "x")
			write(t, filepath.Join(dir, ".trkr/build.sh"), "false\n")
			write(t, filepath.Join(dir, ".trkr/runs/x"), "")
		}, ".trkr/build.sh"},
		"tracked files in our folder, whatever they are called": {func(t *testing.T, dir string) {
			for round, text := range []string{"true\n", "false\n"} {
				for _, name := range []string{
					"config.json", "contract.md", "src/spec.md", "src/deep/diagnosis.md", "tickets/8/contract.md", "tickets/8/validation.md",
					"tickets/7/contract.md", "tickets/7/spec.md", "tickets/7/deep/validation.md",
				} {
					write(t, filepath.Join(dir, ".trkr", name), text)
				}
				if round == 0 {
					git(t, dir, "add", "-f", ".trkr")
					git(t, dir, "commit", "-qm", "x")
				}
			}
			_ = os.Remove(filepath.Join(dir, ".trkr/tickets/8/contract.md"))
		}, ".trkr/config.json .trkr/contract.md .trkr/src/deep/diagnosis.md .trkr/src/spec.md .trkr/tickets/7/contract.md .trkr/tickets/7/deep/validation.md " +
			".trkr/tickets/7/spec.md .trkr/tickets/8/contract.md .trkr/tickets/8/validation.md"},
		"in a repository of its own": {func(t *testing.T, dir string) { fixture(t, filepath.Join(dir, "nested")) }, "nested/"},
		"a tree that is not what its name says": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "src/a.go"), "package b\n")
			git(t, dir, "add", "-A")
			other := git(t, dir, "rev-parse", git(t, dir, "write-tree")+":src")
			id := git(t, dir, "rev-parse", "HEAD:src")
			raw, _ := tryGit(dir, "cat-file", "tree", other)
			plantObject(t, dir, id, "tree", raw)
		}, "damaged"},
		"a blob that is not what its name says": {func(t *testing.T, dir string) {
			plantObject(t, dir, git(t, dir, "rev-parse", "HEAD:src/a.go"), "blob", "package b\n")
			write(t, filepath.Join(dir, "src/a.go"), "package b\n")
		}, "src/a.go"},
		"a pointer without the attribute": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "big"), pointer("content"))
			commitAll(t, dir)
			write(t, filepath.Join(dir, "big"), "content")
		}, "big"},
		"a pointer to something else": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "big filter=lfs -text\n")
			write(t, filepath.Join(dir, "big"), pointer("content"))
			commitAll(t, dir)
			write(t, filepath.Join(dir, "big"), "CONTENT")
		}, "big"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			c.plant(t, dir)
			r := open(t, dir)
			changed, err := r.Changes(context.Background(), resolve(t, r, Query{}))
			if c.want == "damaged" {
				wantFault(t, err, codeDamaged)
			} else if got := strings.Join(changed, " "); err != nil || got != c.want {
				t.Errorf("changes %q, %v, want %q", got, err, c.want)
			}
			nothingLeftIn(t, r)
		})
	}
}

func utf16(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

func pointer(content string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(content)), len(content))
}

// A checkout as git makes it is no change, whatever conversions the commit's attributes ask for; in a temporary worktree
// neither, and there the user's settings say nothing.
func TestHonestCheckoutIsClean(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			base := tempDir(t)
			dir := fixture(t, filepath.Join(base, "r"), "--object-format="+format)
			write(t, filepath.Join(dir, ".gitattributes"), "*.crlf text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\nbig filter=lfs -text\n*.x filter=other\n")
			for name, content := range map[string]string{
				"a.crlf": "a\r\nb\r\n", "a.id": "$Id$\n", "a.u16": utf16("a\n"), "big": pointer("content"), "stored.x": "as stored",
				"a name\nof two lines.crlf": "a\r\n", "src/.gitignore": "*.o\n!keep.o\n/out/\n", "src/keep.o": "", "[x]/.gitignore": "y*\n", "empty": "",
			} {
				write(t, filepath.Join(dir, name), content)
			}
			link(t, "src/a.go", filepath.Join(dir, "link"))
			link(t, "nowhere", filepath.Join(dir, "dangling"))
			write(t, filepath.Join(dir, "run"), "#!/bin/sh\n")
			if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
				t.Fatal(err)
			}
			if format == "sha1" {
				fixture(t, filepath.Join(dir, "sub"))
				git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
			}
			commitAll(t, dir)
			write(t, filepath.Join(dir, "big"), "content") // as Git LFS leaves it
			_ = os.Remove(filepath.Join(dir, "a.id"))
			git(t, dir, "checkout", "-q", "--", "a.id")
			if got := read(t, filepath.Join(dir, "a.id")); !strings.HasPrefix(got, "$Id: ") {
				t.Fatalf("ident was not expanded: %q", got)
			}
			for _, ignored := range []string{"src/x.o", "src/deep/y.o", "src/out/z", "[x]/y1", "build/any"} {
				write(t, filepath.Join(dir, ignored), "")
			}
			ctx := context.Background()
			r := open(t, dir)
			if changed, err := r.Changes(ctx, resolve(t, r, Query{})); err != nil || len(changed) > 0 {
				t.Errorf("changes %q, %v", changed, err)
			}
			for _, odd := range []string{"src/deep/out/z", "x/y1"} {
				write(t, filepath.Join(dir, odd), "")
			}
			if changed, err := r.Changes(ctx, resolve(t, r, Query{})); err != nil || !slices.Equal(changed, []string{"src/deep/out/z", "x/y1"}) {
				t.Errorf("changes %q, %v", changed, err)
			}
			set(t, dir, "core.autocrlf=true", "core.fileMode=false", "core.symlinks=false")
			git(t, dir, "sparse-checkout", "set", "--cone", "docs")
			if changed, err := r.Changes(ctx, resolve(t, r, Query{Clean: true})); err != nil || len(changed) > 0 {
				t.Errorf("changes in a temporary worktree %q, %v", changed, err)
			}
		})
	}
}

// What stands in a submodule's folder is what the outer commit names, or it counts.
func TestSubmodulesAreProved(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, dir, sub string)
		want  string
	}{
		"not checked out": {func(t *testing.T, dir, sub string) {
			_ = os.RemoveAll(sub)
			mkdir(t, sub)
		}, ""},
		"files without a repository": {func(t *testing.T, dir, sub string) { _ = os.RemoveAll(filepath.Join(sub, ".git")) },
			"sub/.gitignore sub/docs/x/y.txt sub/src/a.go sub/src/b.go"},
		"another commit": {func(t *testing.T, dir, sub string) {
			git(t, sub, "commit", "-q", "--allow-empty", "-m", "x")
			set(t, dir, "submodule.sub.ignore=all", "diff.ignoreSubmodules=all")
		}, "sub"},
		"a link":               {func(t *testing.T, dir, sub string) { move(t, sub, dir+"-moved"); link(t, dir+"-moved", sub) }, "sub"},
		"a forged index entry": {func(t *testing.T, dir, sub string) { forged(t, sub, "src/a.go", "package b\n") }, "sub/src/a.go"},
		"another repository's objects": {func(t *testing.T, dir, sub string) {
			_ = os.RemoveAll(filepath.Join(sub, ".git/objects"))
			mkdir(t, filepath.Join(sub, ".git/objects"))
		}, "sub"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			sub := fixture(t, filepath.Join(dir, "sub"))
			git(t, dir, "add", "sub")
			git(t, dir, "commit", "-qm", "submodule")
			c.plant(t, dir, sub)
			r := open(t, dir)
			changed, err := r.Changes(context.Background(), resolve(t, r, Query{}))
			if got := strings.Join(changed, " "); err != nil || got != c.want {
				t.Errorf("changes %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// A build that alters a file and forges the index over it, or hides it: the file is put back all the same.
func TestRestoreBelievesNoIndex(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	ctx := context.Background()
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	write(t, filepath.Join(dir, "src/b.go"), "package evil\n")
	git(t, dir, "update-index", "--skip-worktree", "src/b.go")
	forged(t, dir, "src/a.go", "package b\n")
	changed, err := r.Changes(ctx, tk)
	if err != nil || strings.Join(changed, " ") != "src/a.go src/b.go" {
		t.Fatalf("changes %q, %v", changed, err)
	}
	if err := r.Restore(ctx, tk, changed); err != nil {
		t.Fatal(err)
	}
	if changed, err := r.Changes(ctx, tk); err != nil || len(changed) > 0 {
		t.Errorf("changes after they were put back %q, %v", changed, err)
	}
}
