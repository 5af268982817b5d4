package build

import (
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// passed are the names of the caller's variables that every build sees: what programs need to find their files, to
// reach a network through a proxy, and to use the caches of this machine.
var passed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true, "TZ": true, "TMPDIR": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true, "ALL_PROXY": true, "FTP_PROXY": true,
	"http_proxy": true, "https_proxy": true, "no_proxy": true, "all_proxy": true, "ftp_proxy": true,
	"CARGO_HOME": true, "JAVA_HOME": true, "npm_config_registry": true, "CI": true,
}

// passes reports whether a build sees a variable of the caller without being asked.
func passes(name string) bool {
	if passed[name] {
		return true
	}
	for _, prefix := range []string{"LC_", "XDG_", "SSL_CERT_", "RUSTUP_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	// Go's own, like GOPATH and GOFLAGS, but neither GOAUTH nor what only begins like them: GOOGLE_API_KEY.
	own, isGo := strings.CutPrefix(name, "GO")
	return isGo && own != "AUTH" && !strings.HasPrefix(own, "OGLE") && !strings.Contains(own, "_")
}

// pathsOfGo are the variables of Go that name files of this machine.
var pathsOfGo = map[string]bool{
	"GOROOT": true, "GOPATH": true, "GOBIN": true, "GOCACHE": true, "GOMODCACHE": true, "GOTMPDIR": true, "GOENV": true, "GOWORK": true, "GOTOOLDIR": true, "GOCACHEPROG": true,
}

// passesInto reports whether a build in a container sees a variable of the caller without being asked: where this
// machine's files are does not concern it, and there is no network.
func passesInto(name string) bool {
	return name == "CI" || name == "npm_config_registry" || strings.HasPrefix(name, "GO") && passes(name) && !pathsOfGo[name]
}

// Environment is the whole environment of a build on the host: the caller's variables of a fixed list, then extra
// (NAME=value, or NAME to take the caller's), then TRKR_ISSUE, TRKR_BRANCH and TRKR_COMMIT, which nothing overrides.
// Sorted. An extra that names a variable the caller does not have, a GIT_ variable, or nothing is a fault.Usage error.
func Environment(caller, extra []string, issue, branch, commit string) ([]string, error) {
	return environment(map[string]string{}, passes, caller, extra, issue, branch, commit)
}

// ContainerEnvironment is that of a build in a container: its own folders and names, fewer variables of the caller, and
// the rest as with Environment. PATH is the image's, unless extra has one.
func ContainerEnvironment(caller, extra []string, issue, branch, commit string) ([]string, error) {
	own := map[string]string{
		"HOME": sandbox.BuildHome, "TMPDIR": sandbox.BuildTmp, "USER": "build", "LOGNAME": "build", "SHELL": "/bin/sh", "LANG": "C.UTF-8",
		"XDG_CACHE_HOME": sandbox.BuildCache, "GOMODCACHE": sandbox.BuildCache + "/go-mod", "CARGO_HOME": sandbox.BuildCache + "/cargo", "npm_config_cache": sandbox.BuildCache + "/npm",
	}
	return environment(own, passesInto, caller, extra, issue, branch, commit)
}

func environment(env map[string]string, passes func(string) bool, caller, extra []string, issue, branch, commit string) ([]string, error) {
	has := map[string]string{}
	for _, v := range caller {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			continue
		}
		has[name] = value
		if passes(name) {
			env[name] = value
		}
	}
	for _, v := range extra {
		name, value, given := strings.Cut(v, "=")
		if name == "" || strings.ContainsFunc(v, func(r rune) bool { return r == 0 }) {
			return nil, fault.Usagef("env_invalid", []string{`write "NAME=value", or "NAME" to take the caller's value`}, "validate.env has %q, which names no variable", v)
		}
		if strings.HasPrefix(name, "GIT_") {
			return nil, fault.Usagef("env_invalid", []string{"set it in the build command where git needs it"}, "validate.env has %s, and a build gets no GIT_ variables", name)
		}
		if !given {
			var set bool
			if value, set = has[name]; !set {
				return nil, fault.Usagef("env_not_set", []string{
					"set " + name + ` before the call, or write "` + name + `=value" in validate.env`,
				}, "validate.env asks for %s, which is not set", name)
			}
		}
		env[name] = value
	}
	env["TRKR_ISSUE"], env["TRKR_BRANCH"], env["TRKR_COMMIT"] = issue, branch, commit
	all := make([]string, 0, len(env))
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all, nil
}
