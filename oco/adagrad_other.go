//go:build !amd64

package oco

const hasAdagradStep = false

func adagradStep(int, *float64, *float64, *float64, *float64, *float64, *float64, *float64) int {
	return 0
}
