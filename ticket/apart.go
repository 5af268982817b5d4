package ticket

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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

// hold reads a commit. Each object's id is the hash of what is read, so that the commit's own id proves the rest.
func hold(ctx context.Context, from *reader, commit string) (held, error) {
	proved := proved{}
	prove := func(ids ...string) error {
		objects, err := from.objects(ctx, ids)
		if err != nil {
			return fmt.Errorf("reading the trees of %s: %w", short(commit), err)
		}
		for i, o := range objects {
			if o.kind == "" {
				return o.lacking()
			}
			if o.id != ids[i] {
				return o.damaged()
			}
			proved[ids[i]] = o
		}
		return nil
	}
	if err := prove(commit); err != nil {
		return held{}, err
	}
	root, err := proved[commit].tree()
	if err != nil {
		return held{}, err
	}
	h := held{}
	for level := []entry{{id: root}}; len(level) > 0; { // folders, all of one depth at once
		if err := prove(idsOf(level)...); err != nil {
			return held{}, err
		}
		var deeper []entry
		for _, folder := range level {
			entries, err := proved.in(folder)
			if err != nil {
				return held{}, err
			}
			for _, e := range entries {
				if e.kind == "tree" {
					deeper = append(deeper, e)
				} else {
					h.entries = append(h.entries, e)
				}
			}
		}
		level = deeper
	}
	slices.SortFunc(h.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	ignoring := slices.DeleteFunc(slices.Clone(h.entries), func(e entry) bool {
		return path.Base(e.name) != ignoreName || e.mode != modeFile && e.mode != modeProgram
	})
	if err := prove(idsOf(ignoring)...); err != nil {
		return held{}, err
	}
	h.ignore = proved.ignore(ignoring)
	return h, nil
}

func idsOf(entries []entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	return ids
}

// proved are objects whose content is what their names say.
type proved map[string]object

// in is what a folder's tree holds; names are paths then, and modes those that git has in an index.
func (p proved) in(folder entry) ([]entry, error) {
	o := p[folder.id]
	if o.kind != "tree" {
		return nil, o.damaged()
	}
	entries, err := parseTree(o.data, len(folder.id)/2)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		if e.name == "" || e.name == "." || e.name == ".." || strings.EqualFold(e.name, ".git") || strings.Contains(e.name, "/") {
			return nil, o.damaged()
		}
		e.name = path.Join(folder.name, e.name)
		switch {
		case e.kind == "tree", e.mode == modeLink, e.mode == modeSubmodule:
		case strings.HasPrefix(e.mode, "1007"): // old ones have group rights
			e.mode = modeProgram
		default:
			e.mode = modeFile
		}
	}
	return entries, nil
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
