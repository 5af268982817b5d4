package install

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

func (i *installer) npm(ctx context.Context, files []string) (*Failure, error) {
	args := append([]string{"npm", "install", "--global", "--prefix", sandbox.Prefix}, i.ifOffline("--offline")...)
	return i.step(ctx, append(append(args, "--no-audit", "--no-fund"), files...)...)
}

var separators = pattern.Regexp(`[-_.]+`)

// project is the name of what a wheel or a source distribution holds, by its file's name.
func project(file string) string {
	name, _, _ := strings.Cut(path.Base(file), "-")
	if suffix, _, _ := format(file); suffix != wheelSuffix {
		base := strings.TrimSuffix(path.Base(file), suffix)
		name = base[:max(strings.LastIndexByte(base, '-'), 0)]
	}
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// python installs each project of the artifact once, the best file for it, into a virtual environment at the prefix. A
// source distribution counts where its project has no wheel; it is built first, with the build tools of the image.
func (i *installer) python(ctx context.Context, a archives) (*Failure, error) {
	var names, places, build []string
	for _, file := range a.files {
		if !slices.Contains(a.sources, file) {
			names, places = append(names, project(file)), append(places, path.Dir(file))
		}
	}
	for _, file := range a.sources {
		if !slices.Contains(names, project(file)) {
			names, build = append(names, project(file)), append(build, file)
		}
	}
	if failure, err := i.step(ctx, "python3", "-m", "venv", "--without-pip", sandbox.Prefix); failure != nil || err != nil {
		return failure, err
	}
	if len(build) > 0 {
		wheels := i.session.Home() + "/wheels"
		args := []string{"wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels}
		if failure, err := i.buildPip(ctx, append(args, build...)); failure != nil || err != nil {
			return failure, err
		}
		places = append(places, wheels)
	}
	var args []string
	slices.Sort(places)
	for _, dir := range slices.Compact(places) {
		args = append(args, "--find-links", dir)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	args = append(args, names...)
	failure, err := i.prefixPip(ctx, append([]string{"install", "--no-index"}, append(i.ifOnline("--no-deps"), args...)...))
	if failure == nil && err == nil && i.proxy != nil { // the product is there, and an index is asked for nothing but what it needs
		failure, err = i.prefixPip(ctx, append([]string{"install"}, args...))
	}
	if failure != nil && failure.Missing == MissingNetwork {
		// The project itself is there: pip passes over a wheel that the image's Python cannot use.
		if _, name, ok := strings.Cut(failure.Detail, " found for "); ok && slices.Contains(names, strings.TrimSpace(name)) {
			failure.Missing, failure.Detail = MissingTool, "no file of "+name+" fits the image's Python"
		}
	}
	if failure != nil || err != nil {
		return failure, err
	}
	return i.run(ctx, "removing what the environment brought", "/bin/sh", "-c", tidying, "sh", sandbox.Prefix)
}

// tidying removes a virtual environment's own programs below $1: they are none of the product's.
const tidying = `rm -f "$1"/bin/pip* "$1"/bin/[Aa]ctivate*`

// noPip is how Python says that it has no pip, or an old one.
var noPip = pattern.Regexp(`No module named '?pip\b|no such option: --python`)

// prefixPip runs pip for the environment at the prefix: the image's, as making one there takes longer than all the rest,
// else one that Python brings along.
func (i *installer) prefixPip(ctx context.Context, args []string) (*Failure, error) {
	python := sandbox.Prefix + "/bin/python"
	failure, err := i.step(ctx, append([]string{"python3", "-m", "pip", "--python", python}, args...)...)
	if failure == nil || err != nil || !noPip().MatchString(failure.Output) {
		return failure, err
	}
	if failure, err := i.step(ctx, python, "-m", "ensurepip"); failure != nil || err != nil {
		return failure, err
	}
	return i.step(ctx, append([]string{python, "-m", "pip"}, args...)...)
}

// buildPip runs pip where it sees the image's build tools.
func (i *installer) buildPip(ctx context.Context, args []string) (*Failure, error) {
	failure, err := i.step(ctx, append([]string{"python3", "-m", "pip"}, args...)...)
	if failure == nil || err != nil || !noPip().MatchString(failure.Output) {
		return failure, err
	}
	venv := i.session.Home() + "/build"
	if failure, err := i.step(ctx, "python3", "-m", "venv", "--system-site-packages", venv); failure != nil || err != nil {
		return failure, err
	}
	return i.step(ctx, append([]string{venv + "/bin/python", "-m", "pip"}, args...)...)
}

// unpack unpacks each archive into a directory of its own.
func (i *installer) unpack(ctx context.Context, files []string) (*Failure, error) {
	for n, file := range files {
		suffix, flag, _ := format(file)
		dir := path.Join(sandbox.Prefix, strings.TrimSuffix(path.Base(file), suffix))
		if slices.ContainsFunc(files[:n], func(f string) bool { return path.Base(f) == path.Base(file) }) {
			return &Failure{Missing: MissingChoice, Detail: "two archives have the same name: " + path.Base(file)}, nil
		}
		if failure, err := i.step(ctx, "mkdir", "--", dir); failure != nil || err != nil {
			return failure, err
		}
		args := []string{"unzip", "-q", "-o", file, "-d", dir}
		switch flag {
		case "":
		case "--":
			args = []string{"tar", "-x", "-f", file, "-C", dir}
		default:
			args = []string{"tar", flag, "-x", "-f", file, "-C", dir}
		}
		if failure, err := i.step(ctx, args...); failure != nil || err != nil {
			return failure, err
		}
	}
	return nil, nil
}
