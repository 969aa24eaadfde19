#include "textflag.h"

// func adagradStep(n int, v, q, x, rate, lower, upper, spent *float64) int
//
// Four coordinates at a time, the same operations in the same order as AdaGrad.step, each rounded once: the bits are the same.
TEXT ·adagradStep(SB), NOSPLIT, $0-72
	MOVQ n+0(FP), CX
	MOVQ v+8(FP), SI
	MOVQ q+16(FP), DI
	MOVQ x+24(FP), R8
	MOVQ rate+32(FP), R9
	MOVQ lower+40(FP), R10
	MOVQ upper+48(FP), R11
	MOVQ spent+56(FP), R12
	ANDQ $-4, CX
	XORQ AX, AX
	MOVQ $0x07B0000000000000, DX // 2^-900
	MOVQ DX, X0
	VPERMILPD $0, X0, X0
	VINSERTF128 $1, X0, Y0, Y14
	MOVQ $0x7830000000000000, DX // 2^900
	MOVQ DX, X0
	VPERMILPD $0, X0, X0
	VINSERTF128 $1, X0, Y0, Y15
	VXORPD Y13, Y13, Y13

loop:
	CMPQ AX, CX
	JGE done
	VMOVUPD (SI)(AX*8), Y0      // v
	VMULPD Y0, Y0, Y1           // s = v·v
	VADDPD (DI)(AX*8), Y1, Y2   // sum = q + s
	VCMPPD $0x1E, Y14, Y1, Y3   // s > 2^-900
	VCMPPD $0x11, Y15, Y2, Y4   // sum < 2^900
	VANDPD Y3, Y4, Y3
	VCMPPD $0, Y13, Y0, Y5      // v = 0: such a coordinate stays
	VORPD Y3, Y5, Y3
	VMOVMSKPD Y3, DX
	CMPQ DX, $15
	JNE done
	VMULPD (R9)(AX*8), Y0, Y6   // v·rate
	VSQRTPD Y2, Y7
	VDIVPD Y7, Y6, Y6           // the move
	VMULPD Y6, Y0, Y10          // v·move
	VANDNPD Y10, Y5, Y10        // 0 where v = 0, also where the move is 0/0
	VADDPD (R12)(AX*8), Y10, Y10
	VMOVUPD Y10, (R12)(AX*8)
	VMOVUPD (R8)(AX*8), Y8      // x
	VSUBPD Y6, Y8, Y7
	VMAXPD (R10)(AX*8), Y7, Y7  // of two zeros the side, which is +0
	VMOVUPD (R11)(AX*8), Y9
	VMINPD Y7, Y9, Y7           // of two zeros the point
	VBLENDVPD Y5, Y8, Y7, Y7
	VMOVUPD Y2, (DI)(AX*8)
	VMOVUPD Y7, (R8)(AX*8)
	ADDQ $4, AX
	JMP loop

done:
	MOVQ AX, ret+64(FP)
	VZEROUPPER
	RET
