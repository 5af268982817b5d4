// Command trkr-validate judges whether what a ticket built does what its contract says, in a box that holds nothing
// but the artifact.
package main

import (
	"os"
)

func main() {
	dispatch()
	os.Exit(int(execute(os.Args[1:], system())))
}
