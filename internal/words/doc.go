// Package words divides texts into words and hashes them into slots, for contexts of policies and
// for columns of data sets.
//
//	words.Each(text, func(hash uint64) bool {
//		slot, sign := words.Slot(hash, len(counts))
//		counts[slot] += sign
//		return true
//	})
package words
