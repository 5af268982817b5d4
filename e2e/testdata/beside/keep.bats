# The checks of validator/probe/testdata/mutants/keep/contract.md as somebody would write them for bats.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
}

usage() {
	grep -qi '^usage' <<<"$stderr"
}

@test "VAL-1: no command" {
	run -2 --separate-stderr keep
	usage
	[ -z "$output" ]
}
@test "VAL-2: an unknown command" {
	run -2 --separate-stderr keep frob
	[[ $stderr == *frob* ]]
}
@test "VAL-3: too few arguments" {
	run -2 --separate-stderr keep get
	usage
}
@test "VAL-4: init" {
	run -0 --separate-stderr keep init
	[ -z "$output$stderr" ]
	[ "$(stat -c %a keep.json)" = 600 ]
}
@test "VAL-5: init does not overwrite" {
	echo '{"a":"1"}' >keep.json
	cp keep.json before
	run -1 --separate-stderr keep init
	[ -n "$stderr" ]
	cmp before keep.json
}
@test "VAL-6: no store" {
	run -1 --separate-stderr keep get a
	[[ $stderr == *"keep init"* ]]
}
@test "VAL-7: get" {
	keep init
	keep set a "x y"
	run -0 --keep-empty-lines --separate-stderr keep get a
	[ "$output" = $'x y\n' ]
	[ -z "$stderr" ]
}
@test "VAL-8: get of nothing" {
	keep init
	run -1 --separate-stderr keep get a
	[[ $stderr == *a* ]]
	[ -z "$output" ]
}
@test "VAL-9: set again" {
	keep init
	keep set a 1
	keep set a 2
	run -0 --separate-stderr keep export
	jq -e '. == {"a":"2"}' <<<"$output"
}
@test "VAL-10: list" {
	keep init
	keep set b 1
	keep set a 2
	keep set c 3
	run -0 --separate-stderr keep list
	[ "$output" = $'a\nb\nc' ]
}
@test "VAL-11: rm" {
	keep init
	keep set a 1
	keep set b 2
	keep rm a
	run -0 --separate-stderr keep export
	jq -e '. == {"b":"2"}' <<<"$output"
}
@test "VAL-12: rm of nothing" {
	keep init
	run -1 --separate-stderr keep rm a
	[ -n "$stderr" ]
}
@test "VAL-13: a damaged store" {
	echo '{"a":' >keep.json
	cp keep.json before
	run -1 --separate-stderr keep set b 1
	[[ $stderr == *keep.json* ]]
	cmp before keep.json
}
@test "VAL-14: an empty name" {
	keep init
	run -2 --separate-stderr keep set " " x
	[ -n "$stderr" ]
}
@test "VAL-15: an empty list" {
	keep init
	run -0 --separate-stderr keep list
	[ -z "$output$stderr" ]
}
