package ticket

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

const codeAmbiguous = "revision_ambiguous"

// revision is the commit that somebody's words name. Git takes the first of several refs that a name may mean, a tag
// before a branch; whoever can push one would decide. So a name that is not the only one is a fault.
func (r *Repo) revision(ctx context.Context, at place, rev string) (string, error) {
	if err := r.unambiguous(ctx, at, rev); err != nil {
		return "", err
	}
	return r.git.line(ctx, call{at: at, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}})
}

var (
	fullID  = pattern.Regexp(`^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)
	shortID = pattern.Regexp(`^[0-9a-fA-F]{4,}$`)
)

func (r *Repo) unambiguous(ctx context.Context, at place, rev string) error {
	if strings.HasPrefix(rev, ":/") {
		return fault.Usagef(codeAmbiguous, []string{"name a branch or a commit"}, "%q is looked for on every branch, whoever pushed it", rev)
	}
	name := rev
	if i := strings.IndexAny(name, "^~:"); i >= 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "@{")
	if name == "" || name == "HEAD" || name == "@" || fullID().MatchString(name) || strings.ContainsAny(name, "*?[\\ \n") {
		return nil // none of them can be another one's, or no ref has such a name
	}
	refs, remote, err := r.meant(ctx, at, name)
	if err != nil {
		return fmt.Errorf("looking for what %q names: %w", rev, err)
	}
	if len(refs) == 0 {
		return nil
	}
	var names []string
	for _, b := range refs {
		names = append(names, b.full)
	}
	first := refs[0]
	switch {
	case strings.HasPrefix(name, "refs/"):
		if first.full == name {
			return nil
		}
		return ambiguous(rev, names)
	case slices.ContainsFunc(refs, func(b ref) bool { return b.commit != first.commit }):
		return ambiguous(rev, names)
	case remote && !slices.ContainsFunc(refs, func(b ref) bool { return b.full == remotes+name }):
		return ambiguous(rev, append(names, remotes+name)) // which is not here; it is what everybody means
	case strings.HasSuffix(first.full, "/HEAD") && first.symbol == "" && strings.HasPrefix(first.full, remotes):
		return fault.Usagef(codeAmbiguous, []string{"name a branch: origin/main", "git remote set-head origin -a makes it the default branch's name"},
			"%q stands for %s, which is not the remote's default branch but a branch that somebody called HEAD", rev, first.full)
	case shortID().MatchString(name):
		out, err := r.git.line(ctx, call{at: at, args: []string{"rev-parse", "--disambiguate=" + name}})
		if err == nil && out != "" {
			err = ambiguous(rev, append(names, strings.Fields(out)...))
		}
		return err
	}
	return nil
}

// meant lists the refs that a name may mean, in git's order. A tag may also hide what only a remote has as a branch.
// remote tells whether the name is written as a remote's branch is.
func (r *Repo) meant(ctx context.Context, at place, name string) (found []ref, remote bool, err error) {
	tag, head := "refs/tags/"+name, heads+name
	order := []string{name, "refs/" + name, tag, head, remotes + name, remotes + name + "/HEAD"}
	args := []string{"for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)%00%(symref)", remotes + "*/" + name}
	of, _, nested := strings.Cut(name, "/")
	if remote = nested && of == "origin"; nested {
		args = append(args, remotes+of)
	}
	for _, full := range order {
		if strings.HasPrefix(full, "refs/") {
			args = append(args, full)
		}
	}
	out, err := r.git.output(ctx, call{at: at, args: args})
	if err != nil {
		return nil, false, err
	}
	var hidden []ref
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(fields) != 4 {
			return nil, false, fmt.Errorf("git printed %q", line)
		}
		b := ref{full: fields[0], commit: fields[1], symbol: fields[3]}
		if fields[2] != "" {
			b.commit = fields[2]
		}
		remote = remote || nested && strings.HasPrefix(b.full, remotes+of+"/")
		if slices.Contains(order, b.full) {
			found = append(found, b)
		} else if ok, _ := path.Match(remotes+"*/"+name, b.full); ok {
			hidden = append(hidden, b)
		}
	}
	slices.SortStableFunc(found, func(a, b ref) int { return slices.Index(order, a.full) - slices.Index(order, b.full) })
	if len(found) > 0 && found[0].full == tag {
		found = append(found, hidden...)
	}
	return found, remote, nil
}

func ambiguous(rev string, names []string) error {
	return fault.Usagef(codeAmbiguous, []string{"name the one that is meant in full: " + strings.Join(names, " or ")},
		"%q may stand for more than one: %s", rev, strings.Join(names, ", "))
}
