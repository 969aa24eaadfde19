// Package optimize minimises smooth functions with the same bits on every machine.
//
// It holds one method, [LBFGS], for the driver of gonum.org/v1/gonum/optimize:
//
//	result, err := gonum.Minimize(problem, start, settings, new(optimize.LBFGS))
package optimize
