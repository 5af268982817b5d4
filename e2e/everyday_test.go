package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// ordinary is a situation that people are in every day. Nothing about it may be refused, and a good product is clear.
type ordinary struct {
	name    string
	prepare func(t *testing.T) (r *repo, args []string)
}

// good is a ticket with a product that keeps its contract.
func good(t *testing.T, code files, keys map[string]any) *repo {
	t.Helper()
	all := files{"tool.sh": honest}
	for name, content := range code {
		all[name] = content
	}
	return ticketed(t, agreed, all, keys)
}

// checkedOut is such a ticket whose branch is checked out in the main worktree.
func checkedOut(t *testing.T, code files) *repo {
	t.Helper()
	r := good(t, code, nil)
	r.git("checkout", "-q", "trkr/7")
	return r
}

// again runs the program once, which has to be clear, and returns what the second run is called with.
func (r *repo) again(args ...string) (*repo, []string) {
	r.t.Helper()
	if _, doc := r.validate(args...); said(doc) != "clear" {
		r.t.Fatalf("the first run: %s", told(doc))
	}
	return r, args
}

var everyday = []ordinary{
	{name: "nothing special", prepare: func(t *testing.T) (*repo, []string) { return good(t, nil, nil), nil }},
	{name: "the branch is checked out here", prepare: func(t *testing.T) (*repo, []string) { return checkedOut(t, nil), nil }},
	{name: "the branch has a worktree elsewhere", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, nil, nil)
		r.git("worktree", "add", "-q", filepath.Join(t.TempDir(), "it's elsewhere"), "trkr/7")
		return r, nil
	}},
	{name: "a second run", prepare: func(t *testing.T) (*repo, []string) { return checkedOut(t, nil).again("7") }},
	{name: "a second run after more code", prepare: func(t *testing.T) (*repo, []string) {
		r, args := checkedOut(t, nil).again("7")
		r.commit("more", files{"README": "more\n"})
		return r, args
	}},
	{name: "a verdict that was merged with main", prepare: func(t *testing.T) (*repo, []string) {
		r, args := checkedOut(t, nil).again("7")
		r.git("checkout", "-q", "main")
		r.commit("go on", files{"README": "more\n"})
		r.git("checkout", "-q", "trkr/7")
		r.git("merge", "-q", "--no-edit", "main")
		return r, args
	}},
	{name: "an incremental build with its caches", prepare: func(t *testing.T) (*repo, []string) {
		// What it made is kept in the cache and is linked anew, as build tools do.
		build := "mkdir -p cache dist\n[ cache/tool -nt tool.sh ] || cp tool.sh cache/tool\n[ -e dist/tool ] || { cp cache/tool dist/tool && chmod +x dist/tool; }\n"
		return checkedOut(t, files{"build.sh": build, ".gitignore": "/dist/\n/cache/\n"}).again("7")
	}},
	{name: "a build that updates a lockfile", prepare: func(t *testing.T) (*repo, []string) {
		return checkedOut(t, files{"tool.lock": "{}\n", "build.sh": hers + "echo '{\"resolved\": \"'$$'\"}' >tool.lock\n"}).again("7")
	}},
	{name: "a build that leaves files that are ignored", prepare: func(t *testing.T) (*repo, []string) {
		return checkedOut(t, files{"build.sh": hers + "mkdir -p out/deep && echo x >out/deep/log && ln -sf nowhere out/link\n", ".gitignore": "/dist/\n/out/\n"}).again("7")
	}},
	{name: "a build that leaves a process", prepare: func(t *testing.T) (*repo, []string) {
		return good(t, files{"build.sh": hers + "sleep 600 >/dev/null 2>&1 &\n"}, nil), nil
	}},
	{name: "folders of modules that are ignored", prepare: func(t *testing.T) (*repo, []string) {
		r := checkedOut(t, files{".gitignore": "/dist/\nnode_modules/\n"})
		for i := range 300 {
			r.write(files{fmt.Sprintf("node_modules/m%d/index.js", i): "module.exports = 1\n"})
		}
		r.write(files{"node_modules/.bin/tool": honest})
		return r, nil
	}},
	{name: "files of other programs below .trkr", prepare: func(t *testing.T) (*repo, []string) {
		r := checkedOut(t, nil)
		r.write(files{".trkr/state.json": "{}\n", ".trkr/tickets/7/notes.md": "mine\n", ".trkr/tickets/7/spec.md": "not committed\n"})
		return r, nil
	}},
	{name: "contract and spec committed together", prepare: func(t *testing.T) (*repo, []string) {
		r := started(t, nil)
		r.git("checkout", "-q", "-b", "trkr/7")
		r.commit("agree", files{".trkr/tickets/7/contract.md": agreed, ".trkr/tickets/7/spec.md": "what is meant\n", ".trkr/tickets/7/diagnosis.md": "why\n"})
		r.more("code", files{"tool.sh": honest})
		return r, nil
	}},
	{name: "a contract that was amended before the code", prepare: func(t *testing.T) (*repo, []string) {
		r := started(t, nil)
		r.git("checkout", "-q", "-b", "trkr/7")
		r.commit("agree", agreement(softer))
		r.commit("agree on more", agreement(agreed))
		r.more("code", files{"tool.sh": honest})
		return r, nil
	}},
	{name: "a contract that is on main already", prepare: func(t *testing.T) (*repo, []string) {
		r := started(t, nil)
		r.commit("agree", agreement(agreed))
		r.git("checkout", "-q", "-b", "trkr/7")
		r.more("code", files{"tool.sh": honest})
		return r, nil
	}},
	{name: "a contract in the issue alone", prepare: func(t *testing.T) (*repo, []string) {
		r := started(t, nil)
		r.git("checkout", "-q", "-b", "trkr/7")
		r.more("code", files{"tool.sh": honest})
		return r, []string{"7", "--issue-body", r.plant("body", "Please.\n\n## Validation contract\n\n- [ ] **VAL-1:** "+strings.TrimPrefix(agreed, "VAL-1: ")+"\n## Notes\n")}
	}},
	{name: "a contract with CRLF and a byte order mark", prepare: func(t *testing.T) (*repo, []string) {
		r := started(t, nil)
		r.ticket("7", "\ufeff"+strings.ReplaceAll(agreed, "\n", "\r\n"), files{"tool.sh": honest})
		return r, nil
	}},
	{name: "a rebased branch whose contract is pinned", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, nil, nil)
		digest := r.digest()
		r.commit("go on", files{"README": "more\n"})
		r.git("rebase", "-q", "main", "trkr/7")
		r.git("checkout", "-q", "main")
		return r, []string{"7", "--contract-digest", digest}
	}},
	{name: "a squashed branch whose contract is pinned", prepare: func(t *testing.T) (*repo, []string) {
		r := checkedOut(t, nil)
		digest := r.digest()
		r.git("reset", "-q", "--soft", "main")
		r.commit("all in one", nil)
		r.git("checkout", "-q", "main")
		return r, []string{"7", "--contract-digest", digest}
	}},
	{name: "main merged into the branch", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, nil, nil)
		r.commit("go on", files{"README": "more\n", "tests/a": "x\n"})
		r.git("checkout", "-q", "trkr/7")
		r.git("merge", "-q", "--no-edit", "main")
		r.commit("more code", files{"lib.sh": "x\n"})
		r.git("checkout", "-q", "main")
		return r, nil
	}},
	{name: "main that has gone on with other settings", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, nil, nil)
		r.commit("settings", files{".trkr/config.json": configured(t, map[string]any{"limits": map[string]any{"memory": "1GiB"}})})
		return r, nil
	}},
	{name: "a branch that changes its own settings too", prepare: func(t *testing.T) (*repo, []string) {
		return checkedOut(t, files{".trkr/config.json": configured(t, map[string]any{"build_timeout": "5m"})}), nil
	}},
	{name: "a branch that only a remote has", prepare: func(t *testing.T) (*repo, []string) {
		from := good(t, nil, nil)
		r := &repo{t: t, dir: filepath.Join(t.TempDir(), "a clone"), env: os.Environ()}
		from.git("clone", "-q", from.dir, r.dir)
		return r, nil
	}},
	{name: "a branch with a longer name", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, nil, nil)
		r.git("branch", "-m", "trkr/7", "trkr/7-say-hello")
		return r, nil
	}},
	{name: "a submodule", prepare: func(t *testing.T) (*repo, []string) {
		sub := newRepo(t, files{"words": "hello\n"})
		r := started(t, nil)
		r.git("checkout", "-q", "-b", "trkr/7")
		r.commit("agree", agreement(agreed))
		r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "words")
		r.commit("code", files{"build.sh": "mkdir -p dist && { echo '#!/bin/sh'; echo \"echo $(cat words/words)\"; } >dist/tool && chmod +x dist/tool\n"})
		return r, nil
	}},
	{name: "line ends that git converts", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, files{".gitattributes": "*.txt text eol=crlf\n", "notes.txt": "a\nb\n"}, nil)
		r.git("config", "core.autocrlf", "input")
		r.git("checkout", "-q", "trkr/7")
		return r, nil
	}},
	{name: "a sparse checkout, and --clean", prepare: func(t *testing.T) (*repo, []string) {
		r := good(t, files{"docs/a.md": "x\n", "src/b": "x\n"}, nil)
		r.git("checkout", "-q", "trkr/7")
		r.git("sparse-checkout", "set", "--cone", "src", ".trkr")
		return r, []string{"7", "--clean"}
	}},
	{name: "links inside the artifacts", prepare: func(t *testing.T) (*repo, []string) {
		build := "mkdir -p dist/lib dist/bin && cp tool.sh dist/lib/tool-1.2 && chmod +x dist/lib/tool-1.2 && ln -s tool-1.2 dist/lib/tool && ln -s ../lib/tool dist/bin/tool\n"
		return good(t, files{"build.sh": build}, map[string]any{"artifacts": []string{"dist/**"}}), nil
	}},
	{name: "a script that is shipped as it is", prepare: func(t *testing.T) (*repo, []string) {
		return good(t, files{"tool": honest}, map[string]any{"build": "true", "artifacts": []string{"tool"}, "allow_tracked": []string{"tool"}}), nil
	}},
	{name: "an archive of programs", prepare: func(t *testing.T) (*repo, []string) {
		return good(t, files{"build.sh": packed(""), ".gitignore": "/dist/\n/p/\n"}, nil), nil
	}},
	{name: "changes that are not committed, and --clean", prepare: func(t *testing.T) (*repo, []string) {
		r := checkedOut(t, nil)
		r.write(files{"tool.sh": broken, "scratch": "x\n"})
		return r, []string{"7", "--clean"}
	}},
	{name: "hooks, filters and signing of one's own", prepare: func(t *testing.T) (*repo, []string) {
		r := checkedOut(t, files{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": "version 1\n"})
		r.write(files{".git/hooks/pre-commit": "#!/bin/sh\nexit 1\n", ".git/hooks/commit-msg": "#!/bin/sh\nexit 1\n"})
		r.git("config", "commit.gpgSign", "true")
		r.git("config", "filter.lfs.clean", "cat")
		r.git("config", "filter.lfs.smudge", "cat")
		r.git("config", "filter.lfs.required", "true")
		r.git("config", "core.fsmonitor", "false")
		return r, nil
	}},
}

// What people do every day is not refused.
func TestEveryday(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		t.Setenv("TRKR_VALIDATE_ENGINE", engine)
		for i, c := range everyday {
			if !tried(i, engine) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				r, args := c.prepare(t)
				if len(args) == 0 {
					args = []string{"7"}
				}
				before := r.git("status", "--porcelain")
				_, doc := r.validate(args...)
				if got := said(doc); got != string(verdict.Clear) {
					t.Errorf("it is %q\n%s", got, told(doc))
				}
				if after := r.git("status", "--porcelain"); after != before {
					t.Errorf("the status was %q and is %q", before, after)
				}
			})
		}
	})
}
