/* The criteria gini and entropy, defined here and nowhere else.

   A side of a split has the weight c of each class, and w of all. Splits maximise, over both sides,
   the sum of c^2, over w (gini), or the sum of c log c, minus w log w (entropy): a constant minus
   the weighted impurity, which is 1 minus the sum of squared shares, or minus that of c log c. */

#ifndef TREEBOUND_CRITERIA_H
#define TREEBOUND_CRITERIA_H

#include <math.h>

#define squared(c) ((c) * (c))

static inline double c_log_c(double c)
{
    return c > 0.0 ? c * log2(c) : 0.0;
}

/* Gini of two sides from their sums of squares and weights, times both weights. */
static inline double gini_of_sides(double left_sum, double left, double right_sum, double right)
{
    return left_sum * right + right_sum * left;
}

/* The same of two classes with weights a and b on the left: what loops over rows and bins use. */
static inline double gini_of_pair(double a, double b, double all_a, double all_b)
{
    double za = all_a - a, zb = all_b - b;
    return gini_of_sides(squared(a) + squared(b), a + b, squared(za) + squared(zb), za + zb);
}

#endif
