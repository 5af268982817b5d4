// Package sandboxtest holds what tests need of a sandbox: Run, the suite that every engine passes, and Fake, an engine
// for the unit tests of the rest of the program.
package sandboxtest
