package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

var (
	// Git's own look at the worktree is believed.
	ownLook = &defence{edits: []edit{{"ticket/changes.go", "all, tracked, err := r.changes(ctx, checked{at: at, common: r.common, commit: t.Commit}, held)\n", `_ = held
	tracked, _ := r.index(ctx, at)
	out, err := r.git.output(ctx, call{at: at, slow: true, args: []string{"status", "--porcelain=v1", "-z", "--no-renames"}})
	var all []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		if len(line) > 3 {
			all = append(all, line[3:])
		}
	}
`}}}
	wholeStat   = &defence{deep: true, edits: []edit{ownLook.edits[0], {"ticket/environment.go", `"-c", "core.checkStat=default",`, ""}}}
	changeTimes = &defence{deep: true, edits: []edit{ownLook.edits[0], {"ticket/environment.go", `"-c", "core.trustctime=true",`, ""}}}
	noMonitor   = &defence{deep: true, edits: []edit{ownLook.edits[0], {"ticket/environment.go", `"-c", "core.fsmonitor=false",`, ""}}}
	// What lies below .trkr is no change.
	programFiles = &defence{edits: []edit{{"ticket/changes.go", "\tslices.Sort(all)\n", "\tall = slices.DeleteFunc(all, func(p string) bool { return strings.HasPrefix(p, ownFolder) })\n\tslices.Sort(all)\n"}}}
	cleanBuild   = &defence{edits: []edit{{"ticket/resolve.go", `if t.Worktree == "" || q.Clean {`, `if t.Worktree == "" {`}}}
	noFilters    = &defence{deep: true, edits: []edit{
		ownLook.edits[0],
		{"ticket/environment.go", `off["filter."+name+".clean"] = ""`, ""},
		{"ticket/environment.go", `off["filter."+name+".smudge"] = ""`, ""},
		{"ticket/environment.go", `off["filter."+name+".process"] = ""`, ""},
	}}
)

// dirty makes a ticket whose branch is checked out, and lets hide make git not see that the product is then mended in
// the worktree alone.
func dirty(t *testing.T, hide func(r *repo), change func(r *repo)) *repo {
	t.Helper()
	r := ticketed(t, agreed, nil, nil)
	r.git("checkout", "-q", "trkr/7")
	// Younger than the index, a file is looked into whatever git is told.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "tool.sh"), old, old); err != nil {
		t.Fatal(err)
	}
	r.git("update-index", "--refresh")
	hide(r)
	change(r)
	return r
}

// either is a build that takes a better product where that lies around.
func either(better string) string {
	return "mkdir -p dist && { cp " + better + " dist/tool || cp tool.sh dist/tool; } && chmod +x dist/tool\n"
}

func mend(r *repo) { r.write(files{"tool.sh": honest}) }

// mendInPlace leaves length, time and inode as they were, so that only the time of the change tells: of that, git compares
// whole seconds.
func mendInPlace(r *repo) {
	r.t.Helper()
	// The clock of a file system lags some milliseconds behind.
	for began := time.Now().Unix(); time.Now().Add(-50*time.Millisecond).Unix() == began; {
		time.Sleep(10 * time.Millisecond)
	}
	name := filepath.Join(r.dir, "tool.sh")
	info, err := os.Stat(name)
	if err != nil {
		r.t.Fatal(err)
	}
	content := honest
	for len(content) < int(info.Size()) {
		content += "#"
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		r.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		r.t.Fatal(err)
	}
}

// The branch holds a broken product, and what is built is another one.
var worktreeCheats = []cheat{
	{
		name: "file assumed unchanged", tries: "the index says that the file which is mended in the worktree alone never changes",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) { r.git("update-index", "--assume-unchanged", "tool.sh") }, mend), nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "file skipped", tries: "the index says that the file is none of this sparse checkout",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) { r.git("update-index", "--skip-worktree", "tool.sh") }, mend), nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "file hidden in a split index", tries: "the flag stands in an index of two files",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) {
				r.git("update-index", "--assume-unchanged", "tool.sh")
				r.git("update-index", "--split-index")
			}, mend), nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "file that is hardly looked at", tries: "core.checkStat=minimal, and a file with the old length and time",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) { r.git("config", "core.checkStat", "minimal") }, mendInPlace), nil
		},
		want: "refused dirty_worktree", without: wholeStat,
	},
	{
		name: "file whose change time is passed over", tries: "core.trustctime=false, and a file with the old length, time and inode",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) { r.git("config", "core.trustctime", "false") }, mendInPlace), nil
		},
		want: "refused dirty_worktree", without: changeTimes,
	},
	{
		name: "monitor that saw nothing", tries: "core.fsmonitor names a program that says that no file changed",
		prepare: func(t *testing.T) (*repo, []string) {
			return dirty(t, func(r *repo) {
				r.git("config", "core.fsmonitor", r.plant("monitor", "#!/bin/sh\nprintf 'token\\0'\n"))
				r.git("update-index", "--fsmonitor")
				r.git("status")
			}, mend), nil
		},
		want: "refused dirty_worktree", without: noMonitor,
	},
	{
		name: "file that is not committed", tries: "the build takes a file that the commit does not hold",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": either("better.sh")}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.git("config", "status.showUntrackedFiles", "no")
			r.write(files{"better.sh": honest})
			return r, nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "file that only the clone ignores", tries: "such a file, and .git/info/exclude, which no commit holds, names it",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": either("better.sh")}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{"better.sh": honest, ".git/info/exclude": "better.sh\n"})
			return r, nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "attributes that no commit holds", tries: ".git/info/attributes gives a file other line ends, at which the product is another one",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"kind.txt": "broken\n", "build.sh": "mkdir -p dist && { if grep -q \"$(printf '\\r')\" kind.txt; then echo '#!/bin/sh'; echo echo hello; else cat tool.sh; fi; } >dist/tool && chmod +x dist/tool\n"}
			r := ticketed(t, agreed, code, nil)
			r.write(files{".git/info/attributes": "kind.txt text eol=crlf\n"})
			return r, nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "tracked program below .trkr", tries: "the file that is mended lies where other programs keep what they write",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{".trkr/tool.sh": broken, "build.sh": "mkdir -p dist && cp .trkr/tool.sh dist/tool && chmod +x dist/tool\n"}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{".trkr/tool.sh": honest})
			return r, nil
		},
		want: "refused dirty_worktree", without: programFiles,
	},
	{
		name: "program called like a document", tries: "it lies below .trkr in a folder of its own, and is called as a ticket's contract is",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{".trkr/src/contract.md": broken, "build.sh": "mkdir -p dist && cp .trkr/src/contract.md dist/tool && chmod +x dist/tool\n"}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{".trkr/src/contract.md": honest})
			return r, nil
		},
		want: "refused dirty_worktree", without: programFiles,
	},
	{
		name: "file that is ignored", tries: "the build takes a file that git ignores; --clean is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"build.sh": either("better.sh"), ".gitignore": "/dist/\n/better.sh\n"}
			r := ticketed(t, agreed, code, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{"better.sh": honest})
			return r, []string{"7", "--clean"}
		},
		want: "blocking", without: cleanBuild,
	},
	{
		name: "file below .trkr", tries: "the build takes a file that lies where nothing counts as a change; --clean is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": either(".trkr/better.sh")}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{".trkr/better.sh": honest})
			return r, []string{"7", "--clean"}
		},
		want: "blocking", without: cleanBuild,
	},
	{
		name: "submodule that was changed", tries: "the file that is mended lies in a submodule, whose commit is the broken one",
		prepare: func(t *testing.T) (*repo, []string) {
			sub := newRepo(t, files{"tool.sh": broken})
			r := started(t, nil)
			r.git("checkout", "-q", "-b", "trkr/7")
			r.commit("agree", agreement(agreed))
			r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
			r.commit("code", files{"build.sh": "mkdir -p dist && cp sub/tool.sh dist/tool && chmod +x dist/tool\n"})
			r.git("config", "diff.ignoreSubmodules", "all")
			r.write(files{"sub/tool.sh": honest})
			return r, nil
		},
		want: "refused dirty_worktree", without: ownLook,
	},
	{
		name: "filter that mends", tries: "a filter of the repository's configuration checks another file out than the commit holds",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{".gitattributes": "tool.sh filter=better\n"}, nil)
			r.git("config", "filter.better.smudge", "cat "+r.plant("better.sh", honest))
			r.git("config", "filter.better.clean", "git cat-file blob "+r.git("rev-parse", "trkr/7:tool.sh"))
			return r, nil
		},
		want: "blocking", without: noFilters,
	},
}
