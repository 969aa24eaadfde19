// Package show writes what commands print for people and programs: numbers ([Short], [Digits],
// [Number]), counts with their nouns ([Count]), tables ([Table], [KeyValues]), JSON ([JSON]) and
// pictures ([Picture]). Text from outside is shown without characters that people cannot see: a
// cell of a table is one cell of one row, whatever it holds.
package show
