package ticket

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// settings go in front of every command line. They win over every configuration file.
var settings = []string{
	"--no-pager",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.checkStat=default", // a changed file must not look unchanged
	"-c", "core.trustctime=true",
	"-c", "core.ignoreStat=false",
	"-c", "core.quotePath=false",
	"-c", "core.safecrlf=false",
	"-c", "core.commitGraph=false", // a planted graph file could lie about history
	"-c", "commit.gpgSign=false",
	"-c", "i18n.commitEncoding=UTF-8",
	"-c", "submodule.recurse=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
	"-c", "advice.graftFileDeprecated=false",
	"-c", "protocol.allow=never",
}

// environment is all that git sees of the caller's environment: no GIT_* of an outer hook or a CI step decides which
// repository or index is meant, or what is traced.
func environment() []string {
	env := []string{
		"LC_ALL=C",
		"LANGUAGE=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",     // looking never writes the index
		"GIT_NO_LAZY_FETCH=1",      // a partial clone is not completed over the network
		"GIT_ALLOW_PROTOCOL=none",  // the same for versions that don't know the line above
		"GIT_NO_REPLACE_OBJECTS=1", // objects are what their names say
		"GIT_GRAFT_FILE=/dev/null", // and so is history
		"GIT_LITERAL_PATHSPECS=1",  // a path is never a pattern
		"GIT_EDITOR=false",         // nothing here edits,
		"GIT_ASKPASS=false",        // asks,
		"GIT_PAGER=cat",            // or pages
	}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", "LOGNAME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// quiet returns environment entries that switch off every program which the configuration in force at dir names for
// files that pass in and out (filter drivers) and for events (configured hooks). It is asked anew in front of each
// operation: what ran in the worktree may have changed the configuration.
func (r *Repo) quiet(ctx context.Context, at place) ([]string, error) {
	out, err := r.git.output(ctx, call{at: at, args: []string{"config", "--list", "--name-only", "-z"}})
	if err != nil {
		return nil, fmt.Errorf("reading git's configuration: %w", err)
	}
	off := map[string]string{}
	for key := range strings.SplitSeq(string(out), "\x00") {
		section, rest, ok := strings.Cut(key, ".")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || dot < 0 {
			continue
		}
		switch name := rest[:dot]; strings.ToLower(section) {
		case "filter":
			// An empty command is no command, and a driver that is not required may do nothing.
			off["filter."+name+".clean"] = ""
			off["filter."+name+".smudge"] = ""
			off["filter."+name+".process"] = ""
			off["filter."+name+".required"] = "false"
		case "hook":
			off["hook."+name+".enabled"] = "false"
		}
	}
	// Not -c, which splits at the first "=" and so misreads a driver that has one in its name.
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(off))}
	i := 0
	for key, value := range off {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
		i++
	}
	return env, nil
}
