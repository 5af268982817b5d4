package initd

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// removeVar names the directory of a session that the helper removes.
const removeVar = "TRKR_REMOVE"

// helperMain is a helper: this program under the uid of a session.
func helperMain(name string) int {
	uid := os.Getuid()
	var err error
	if name == wire.HelperRemove {
		err = Remove(uid, os.Getenv(removeVar), "/tmp", "/dev/shm", Work)
		if uid == wire.InstallUID {
			err = errors.Join(err, Seal(sandbox.Prefix, uid))
		}
	} else {
		out := bufio.NewWriterSize(os.Stdout, wire.MaxData)
		v := View{Root: sandbox.Root, Dir: "/", Path: os.Getenv("PATH")}
		if err = v.Help(name, uid, os.Stdin, out); err == nil {
			err = out.Flush()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
