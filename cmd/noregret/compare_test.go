package main

import "testing"

func TestCompareRefuses(t *testing.T) {
	checkRefused(
		t,
		refusal{"compare --splits 0 x", "--splits: 0 is out of range, want at least 1"},
		refusal{"compare --train-share 0 x", "--train-share: 0 is out of range"},
		refusal{"compare --folds -2 x", "--folds: -2 is out of range, want at least 1"},
		refusal{"compare --measure f1,f1 x", "--measure: f1 is given twice"},
		refusal{
			"compare --measure f1,macro_f1 x",
			"--measure: f1, macro_f1 are measures of two classes and of several",
		},
		refusal{
			"compare --measure macro_f1 --algorithm stamp,logistic x",
			"no algorithm for multiclass data is named",
		},
		refusal{"compare --measure f1 --against svm x", `--against: "svm" is not one of the algorithms`},
		refusal{"compare --measure f1 --algorithm stamp,stamp x", "--algorithm: stamp is given twice"},
	)
}
