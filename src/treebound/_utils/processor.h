/* Loops that benefit from vector instructions are compiled for several processors, if the compiler
   and the C library support it, and selected at load time. All give the same results: there is no
   fused arithmetic. Products of 64-bit integers gain by AVX-512; most loops are slower with it. */

#ifndef TREEBOUND_PROCESSOR_H
#define TREEBOUND_PROCESSOR_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) \
    && !defined(__clang__) && __GNUC__ >= 10
#define FOR_THIS_PROCESSOR __attribute__((target_clones("avx2", "default")))
#if __GNUC__ >= 12
#define FOR_WIDE_INTEGERS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define FOR_WIDE_INTEGERS FOR_THIS_PROCESSOR
#endif
#else
#define FOR_THIS_PROCESSOR
#define FOR_WIDE_INTEGERS
#endif

#endif
