package convex

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// The proximal maps Prox_f(v) = argmin_x f(x) + ½‖x−v‖² (Moreau 1965; the one of a set's indicator
// is its [Set.Project]). dst may be v, k ≥ 0, and each is O(d), exact and free of allocation.

// SoftThreshold is sgn(v)·max(|v|−k, 0), the proximal map of k|x|.
func SoftThreshold(v, k float64) float64 {
	switch {
	case v > k:
		return v - float64(k)
	case v < -k:
		return v + float64(k)
	}
	return 0
}

// ProxL1 is the proximal map of k‖x‖₁: soft thresholding.
func ProxL1(dst, v []float64, k float64) {
	for i, x := range v {
		dst[i] = SoftThreshold(x, k)
	}
}

// ProxL2 is the proximal map of k‖x‖₂: v shortened by k, or 0 where ‖v‖₂ ≤ k.
func ProxL2(dst, v []float64, k float64) {
	n := vec.Norm2(v)
	if n <= k {
		clear(dst)
		return
	}
	f := 1 - k/n
	for i, x := range v {
		dst[i] = x * f
	}
}

// ProxSquaredL2 is the proximal map of (k/2)‖x‖₂²: v/(1+k).
func ProxSquaredL2(dst, v []float64, k float64) {
	for i, x := range v {
		dst[i] = x / (1 + float64(k))
	}
}

// ProxElasticNet is the proximal map of k1‖x‖₁ + (k2/2)‖x‖₂²: soft thresholding, then division by
// 1+k2.
func ProxElasticNet(dst, v []float64, k1, k2 float64) {
	for i, x := range v {
		dst[i] = SoftThreshold(x, k1) / (1 + float64(k2))
	}
}

// ProxGroup is the proximal map of k·Σ‖x_g‖₂ over the blocks of the norm (see [NewGroupNorm]): each
// block as in [ProxL2]. For the dual norm, the largest block norm, all blocks longer than a common
// level t are shortened to it, with Σmax(‖v_g‖−t, 0) = k, found by bisection of the norms to full
// precision.
func ProxGroup(dst, v []float64, g *GroupNorm, k float64) {
	if !g.max {
		for _, n := range g.sizes {
			ProxL2(dst[:n], v[:n], k)
			dst, v = dst[n:], v[n:]
		}
		return
	}
	lo, hi := 0.0, g.Of(v)
	if g.excess(v, 0) <= k {
		clear(dst)
		return
	}
	for range 1100 {
		mid := lo + float64(0.5*(hi-lo))
		if mid == lo || mid == hi {
			break
		}
		if g.excess(v, mid) > k {
			lo = mid
		} else {
			hi = mid
		}
	}
	for _, n := range g.sizes {
		f := 1.0
		if norm := vec.Norm2(v[:n]); norm > hi {
			f = hi / norm
		}
		for i, x := range v[:n] {
			dst[i] = x * f
		}
		dst, v = dst[n:], v[n:]
	}
}

// excess is Σmax(‖v_g‖−t, 0).
func (g *GroupNorm) excess(v []float64, t float64) float64 {
	sum := 0.0
	for _, n := range g.sizes {
		sum += math.Max(vec.Norm2(v[:n])-t, 0)
		v = v[n:]
	}
	return sum
}

// ProxBox is the proximal map of the indicator of a box: clipping.
func ProxBox(dst, v []float64, b *Box) { b.Project(dst, v) }
