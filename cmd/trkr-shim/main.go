// Command trkr-shim is the init of a box, built small: for daemons on other machines and for other platforms. It does
// nothing outside a box.
package main

import (
	"fmt"
	"os"

	_ "github.com/trkr-dev/trkr-validate/sandbox/shim" // becomes the init before main
)

func main() {
	fmt.Fprintln(os.Stderr, "error: trkr-shim is the init of a sandbox and is started by trkr-validate")
	os.Exit(5)
}
