// VC dimension of a shape on real features by exhaustive search: all samples that are shattered.
//
//   g++ -O3 -o exhaustive benchmarks/exhaustive.cpp && ./exhaustive "((..)(..))" 2 9
//
// prints how many samples of 1, 2, ... points are shattered, up to the given size. A sample is an
// order of its points in each feature; the points are numbered by the first. Every part of a
// shattered sample is shattered, so samples are extended by one point, the last in the first order,
// for as long as they are.
//
// Whether a tree realizes a labelling: for each feature and direction the smaller child takes the
// longest prefix it realizes (a longer one only leaves less to the other child: the chain lemma).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Mask = uint32_t;
using Orders = std::vector<std::vector<int>>;

struct Shape {
    Shape *small = nullptr, *large = nullptr;
    int leaves = 1;
};

Shape* parse(const char*& text) {
    Shape* shape = new Shape;
    if (*text++ == '.') return shape;
    shape->small = parse(text);
    shape->large = parse(text);
    ++text;
    if (shape->small->leaves > shape->large->leaves) std::swap(shape->small, shape->large);
    shape->leaves = shape->small->leaves + shape->large->leaves;
    return shape;
}

// The points of a part in the order of a feature, from either end.
std::vector<int> points(const std::vector<int>& order, Mask part, bool from_above) {
    std::vector<int> points;
    for (int point : order)
        if (part >> point & 1) points.push_back(point);
    if (from_above) std::reverse(points.begin(), points.end());
    return points;
}

bool realizes(const Shape* shape, const Orders& orders, Mask part, Mask labels) {
    Mask ones = part & labels;
    if (ones == 0 || ones == part) return true;
    if (shape->leaves == 1) return false;
    if (__builtin_popcount(part) <= shape->leaves) return true;
    for (const auto& order : orders)
        for (bool from_above : {false, true}) {
            Mask prefix = 0;
            for (int point : points(order, part, from_above)) {
                if (!realizes(shape->small, orders, prefix | Mask(1) << point, labels)) break;
                prefix |= Mask(1) << point;
            }
            if (realizes(shape->large, orders, part & ~prefix, labels)) return true;
        }
    return false;
}

// Labellings that failed lately: most samples that are not shattered fail one of them.
std::vector<Mask> hard;

bool shattered(const Shape* shape, const Orders& orders) {
    int size = orders[0].size();
    Mask all = (Mask(1) << size) - 1;
    for (size_t i = 0; i < hard.size(); i++)
        if (!realizes(shape, orders, all, hard[i] & all)) {
            std::swap(hard[i], hard[i / 2]);
            return false;
        }
    for (Mask labels = 0; labels < Mask(1) << (size - 1); labels++)
        if (!realizes(shape, orders, all, labels)) {
            hard.insert(hard.begin(), labels);
            if (hard.size() > 200) hard.pop_back();
            return false;
        }
    return true;
}

std::vector<long long> counts;

void extend(const Shape* shape, const Orders& orders, size_t feature, const Orders& from) {
    int point = from[0].size();
    if (feature < orders.size()) {
        for (int at = 0; at <= point; at++) {
            Orders longer = orders;
            longer[feature].insert(longer[feature].begin() + at, point);
            extend(shape, longer, feature + 1, from);
        }
        return;
    }
    if (!shattered(shape, orders)) return;
    counts[point + 1]++;
    if (point + 2 == (int)counts.size()) return;
    Orders next = orders;
    next[0].push_back(point + 1);
    extend(shape, next, 1, orders);
}

int main(int argc, char** argv) {
    if (argc != 4) return std::puts("usage: exhaustive SHAPE FEATURES MAX_POINTS"), 2;
    const char* text = argv[1];
    Shape* shape = parse(text);
    counts.assign(std::atoi(argv[3]) + 1, 0);
    Orders none(std::atoi(argv[2])), one = none;
    one[0].push_back(0);
    extend(shape, one, 1, none);
    for (size_t size = 1; size < counts.size(); size++) std::printf("%zu: %lld\n", size, counts[size]);
}
