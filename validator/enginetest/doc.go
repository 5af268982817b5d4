// Package enginetest holds the tests of the validators and of install on real engines: real programs, real package
// managers, real boxes. There is nothing in it but tests.
package enginetest
