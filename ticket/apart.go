package ticket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// apart is a git directory of our own, for questions about a worktree. It shares the repository's objects and nothing
// else: what is configured, excluded or noted anywhere else is not in force in it.
type apart struct {
	checked
	git    program
	folder string // temporary; made by claim
	gitDir string
	env    []string
}

func (r *Repo) setApart(c checked) (apart, error) {
	folder, err := r.claim()
	if err != nil {
		return apart{}, err
	}
	a := apart{checked: c, git: r.git, folder: folder, gitDir: filepath.Join(folder, "git"), env: []string{
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(c.common, "objects"),
		"HOME=" + folder, "XDG_CONFIG_HOME=" + folder, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
	}}
	config := "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n\tprecomposeUnicode = true\n"
	if len(c.commit) == 2*sha256.Size {
		config += "[extensions]\n\tobjectFormat = sha256\n"
	}
	err = errors.Join(
		os.MkdirAll(filepath.Join(a.gitDir, "refs"), 0o700),
		os.Mkdir(filepath.Join(a.gitDir, "info"), 0o700),
		os.WriteFile(filepath.Join(a.gitDir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(a.gitDir, "config"), []byte(config), 0o600),
	)
	if err != nil {
		return apart{}, errors.Join(fmt.Errorf("making a git directory: %w", err), unclaim(folder))
	}
	return a, nil
}

// in is a command that takes dir for the worktree.
func (a apart) in(dir string, args ...string) call {
	return call{at: place{dir: dir, gitDir: a.gitDir, workTree: dir}, env: a.env, slow: true, args: args}
}

// held is what a commit holds.
type held struct {
	entries []entry // all but folders, by path
	ignore  string  // its .gitignore files, as one for the whole worktree
}

// held reads the commit. Each object's name is the hash of what is read, so that the commit's own name proves the rest.
func (a apart) held(ctx context.Context) (held, error) {
	out, err := a.git.output(ctx, a.in(a.at.dir, "ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", a.commit))
	if err != nil {
		return held{}, fmt.Errorf("listing the files of %s: %w", short(a.commit), err)
	}
	ids := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(meta); len(f) == 3 && (f[1] == "tree" || f[1] == "blob" && path.Base(name) == ignoreName) {
			ids[f[2]] = true
		}
	}
	objects, err := a.git.objects(ctx, a.in(a.at.dir), append([]string{a.commit, a.commit + "^{tree}"}, slices.Collect(maps.Keys(ids))...))
	if err != nil {
		return held{}, fmt.Errorf("reading the trees of %s: %w", short(a.commit), err)
	}
	proved := proved{}
	for _, o := range objects {
		if o.kind == "" {
			return held{}, o.lacking()
		}
		if objectID(o.kind, o.data, len(a.commit)) != o.id {
			return held{}, o.damaged()
		}
		proved[o.id] = o
	}
	head, _, _ := bytes.Cut(proved[a.commit].data, []byte("\n"))
	var h held
	if h.entries, err = proved.below("", strings.TrimPrefix(string(head), "tree "), nil); err != nil {
		return held{}, err
	}
	h.ignore, err = proved.ignore(h.entries)
	return h, err
}

// proved are objects whose content is what their names say.
type proved map[string]object

// below appends what a tree holds; names are paths then, and modes those that git has in an index.
func (p proved) below(dir, id string, all []entry) ([]entry, error) {
	o, ok := p[id]
	if !ok || o.kind != "tree" {
		return nil, object{name: id}.damaged()
	}
	entries, err := parseTree(o.data, len(id)/2)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.name == "" || e.name == "." || e.name == ".." || strings.EqualFold(e.name, ".git") || strings.Contains(e.name, "/") {
			return nil, o.damaged()
		}
		e.name = path.Join(dir, e.name)
		if e.kind == "tree" {
			if all, err = p.below(e.name, e.id, all); err != nil {
				return nil, err
			}
			continue
		}
		if e.mode != modeLink && e.mode != modeSubmodule { // old ones have group rights
			if strings.HasPrefix(e.mode, "1007") {
				e.mode = modeProgram
			} else {
				e.mode = modeFile
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// untracked names the files of the worktree that the commit does not hold and does not ignore. There is no index, so
// that none hides anything; a folder with a repository in it is one name, with a slash.
func (a apart) untracked(ctx context.Context, h held) ([]string, error) {
	known := map[string]bool{"": true}
	for _, e := range h.entries {
		if e.mode == modeSubmodule {
			e.name += "/"
		}
		known[e.name] = true
	}
	ignore := h.ignore
	if a.depth == 0 {
		ignore += "/" + ownFolder + "\n"
	}
	file := filepath.Join(a.folder, "ignore")
	if err := os.WriteFile(file, []byte(ignore), 0o600); err != nil {
		return nil, err
	}
	out, err := a.git.output(ctx, a.in(a.at.dir, "ls-files", "-z", "--others", "--exclude-from="+file))
	if err != nil {
		return nil, fmt.Errorf("looking for untracked files: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(p string) bool { return known[p] }), nil
}
