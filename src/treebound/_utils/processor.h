/* Loops that benefit from vector instructions are compiled twice, if compiler and C library support
   it, and selected for the processor at load time. Both give the same results: there is no fused
   arithmetic. */

#ifndef TREEBOUND_PROCESSOR_H
#define TREEBOUND_PROCESSOR_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) \
    && !defined(__clang__) && __GNUC__ >= 10
#define FOR_THIS_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_THIS_PROCESSOR
#endif

#endif
