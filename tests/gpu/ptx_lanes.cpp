// SPDX-License-Identifier: Apache-2.0
// PTX instructions that every lane executes for itself: arithmetic, comparisons, conversions,
// moves. One function of values each (PTX ISA, section "Instruction Set"), and a table of opcodes.
#include "tests/gpu/emulate_ptx.h"
#include "tests/gpu/ptx.h"

#include <limits>
#include <map>
#include <type_traits>

namespace
{

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;
using Table = std::map<std::string, PtxOpcode>;

// ---- one value ----------------------------------------------------------------------------------

template <class T> T add(T a, T b)
{
    return static_cast<T>(a + b);
}
template <class T> T sub(T a, T b)
{
    return static_cast<T>(a - b);
}
template <class T> T mul(T a, T b)
{
    return static_cast<T>(a * b);
}
// A division by zero is undefined in PTX; the emulator would end there as well.
template <class T> T divide(T a, T b)
{
    return static_cast<T>(a / b);
}
template <class T> T remainder_of(T a, T b)
{
    return static_cast<T>(a % b);
}
template <class Wide, class T> Wide mul_wide(T a, T b)
{
    return static_cast<Wide>(a) * static_cast<Wide>(b);
}
s32 mul_hi_s32(s32 a, s32 b)
{
    return static_cast<s32>((static_cast<s64>(a) * b) >> 32);
}
u32 mul_hi_u32(u32 a, u32 b)
{
    return static_cast<u32>((static_cast<u64>(a) * b) >> 32);
}
u64 mul_hi_u64(u64 a, u64 b)
{
    return static_cast<u64>((static_cast<unsigned __int128>(a) * b) >> 64);
}
template <class T> T mul_add(T a, T b, T c)
{
    return static_cast<T>(a * b + c);
}
template <class T> T smaller(T a, T b)
{
    return b < a ? b : a;
}
template <class T> T larger(T a, T b)
{
    return a < b ? b : a;
}
// The smaller of two numbers; of a number and a NaN it is the number, and -0 is below +0.
f32 smaller_f32(f32 a, f32 b)
{
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}
f32 larger_f32(f32 a, f32 b)
{
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
}
template <class T> T negated(T a)
{
    if constexpr (std::is_floating_point<T>::value)
        return -a;
    else
        return static_cast<T>(0 - a);
}
template <class T> T magnitude(T a)
{
    return a < 0 ? negated(a) : a;
}
template <class T> T magnitude_of_float(T a)
{
    return std::fabs(a);
}
template <class T> T bit_and(T a, T b)
{
    return static_cast<T>(a & b);
}
template <class T> T bit_or(T a, T b)
{
    return static_cast<T>(a | b);
}
template <class T> T bit_xor(T a, T b)
{
    return static_cast<T>(a ^ b);
}
template <class T> T bit_not(T a)
{
    return static_cast<T>(~a);
}
u8 not_pred(u8 a)
{
    return !a;
}
// Shifts by the width or more leave nothing but the sign.
template <class T> T shift_left(T a, u32 n)
{
    return n < 8 * sizeof(T) ? static_cast<T>(a << n) : T{0};
}
template <class T> T shift_right(T a, u32 n)
{
    const u32 last = 8 * sizeof(T) - 1;
    return n <= last ? static_cast<T>(a >> n) : static_cast<T>(a < 0 ? -1 : 0);
}
u32 count_ones(u32 a)
{
    return static_cast<u32>(__builtin_popcount(a));
}
// The `n` lowest bits of a, put into b from bit `at` on.
template <class T> T insert_bits(T a, T b, u32 at, u32 n)
{
    const u32 width = 8 * sizeof(T);
    at &= 255;
    n &= 255;
    for (u32 i = 0; i < n && at + i < width; i++)
        b = static_cast<T>((b & ~(T{1} << (at + i))) | ((a >> i & 1) << (at + i)));
    return b;
}
// Byte i of the result is byte s & 7 of b:a, or its sign eight times, s being nibble i.
u32 permute(u32 a, u32 b, u32 selector)
{
    const u64 bytes = static_cast<u64>(b) << 32 | a;
    u32 out = 0;
    for (u32 i = 0; i < 4; i++) {
        const u32 s = selector >> (4 * i);
        u32 byte = static_cast<u32>(bytes >> (8 * (s & 7))) & 255;
        if (s & 8)
            byte = byte & 128 ? 255 : 0;
        out |= byte << (8 * i);
    }
    return out;
}
template <class T> T select(T a, T b, u8 p)
{
    return p ? a : b;
}
template <class T> T same(T a)
{
    return a;
}
template <class D, class S> D convert(S a)
{
    return static_cast<D>(a);
}
// To nearest even or to zero, saturated, NaN to 0.
template <class T> T saturate(f32 a)
{
    const f64 x = static_cast<f64>(a);
    if (!(x == x))
        return 0;
    return x <= static_cast<f64>(std::numeric_limits<T>::min())   ? std::numeric_limits<T>::min()
           : x >= static_cast<f64>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                  : static_cast<T>(x);
}
template <class T> T nearest_integer(f32 a)
{
    return saturate<T>(std::nearbyint(a));
}
f32 nearest_f32(f32 a)
{
    return std::nearbyint(a);
}
f32 reciprocal(f32 a)
{
    return 1.0f / a;
}
f32 square_root(f32 a)
{
    return std::sqrt(a);
}
f32 half_to_f32(u16 a)
{
    return f16_to_f32(a);
}
u32 pack_halves(u16 low, u16 high)
{
    return low | static_cast<u32>(high) << 16;
}
u64 pack_words(u32 low, u32 high)
{
    return low | static_cast<u64>(high) << 32;
}

template <class T> u8 eq(T a, T b)
{
    return a == b;
}
template <class T> u8 ne(T a, T b)
{
    return a < b || a > b; // false for NaN
}
template <class T> u8 lt(T a, T b)
{
    return a < b;
}
template <class T> u8 le(T a, T b)
{
    return a <= b;
}
template <class T> u8 gt(T a, T b)
{
    return a > b;
}
template <class T> u8 ge(T a, T b)
{
    return a >= b;
}
template <class T> u8 equ(T a, T b)
{
    return !ne(a, b);
}
template <class T> u8 neu(T a, T b)
{
    return !(a == b);
}
template <class T> u8 ltu(T a, T b)
{
    return !(a >= b);
}
template <class T> u8 leu(T a, T b)
{
    return !(a > b);
}
template <class T> u8 gtu(T a, T b)
{
    return !(a <= b);
}
template <class T> u8 geu(T a, T b)
{
    return !(a < b);
}
template <class T> u8 is_nan(T a, T b)
{
    return a != a || b != b;
}

// ---- 32 lanes -----------------------------------------------------------------------------------

// Where nobody stands aside the loop has no branches: results first, then all stores at once.
template <class D, class... S> struct Lanes {
    template <D (*f)(S...), size_t... k>
    static void run(PtxWarp &w, const PtxInstruction &i, u32 lanes, std::index_sequence<k...>)
    {
        if (lanes == UINT32_MAX) {
            const uint8_t *const file = w.file.data();
            D result[32];
            for (unsigned lane = 0; lane < 32; lane++)
                result[lane] = f(ptx_lane<S>(file + i.at[1 + k], lane)...);
            memcpy(w.file.data() + i.at[0], result, sizeof result);
        } else {
            PTX_EACH_LANE(lane, lanes)
            {
                w.put<D>(i.at[0], lane, f(w.get<S>(i.at[1 + k], lane)...));
            }
        }
    }
    template <D (*f)(S...)> static void run_all(PtxWarp &w, const PtxInstruction &i, u32 lanes)
    {
        run<f>(w, i, lanes, std::index_sequence_for<S...>());
    }
    template <D (*f)(S...)> static PtxOpcode opcode()
    {
        PtxOpcode o;
        o.run = run_all<f>;
        o.n_operands = 1 + sizeof...(S);
        o.nbytes = {sizeof(D), sizeof(S)...};
        return o;
    }
};
template <class T, T (*f)(T)> PtxOpcode unary()
{
    return Lanes<T, T>::template opcode<f>();
}
template <class T, T (*f)(T, T)> PtxOpcode binary()
{
    return Lanes<T, T, T>::template opcode<f>();
}
template <class T, T (*f)(T, T, T)> PtxOpcode ternary()
{
    return Lanes<T, T, T, T>::template opcode<f>();
}
template <class D, class S> PtxOpcode cvt()
{
    return Lanes<D, S>::template opcode<convert<D, S>>();
}

// Conversions of a register's lowest bits, whatever its size, to a register of any size.
template <class S> void extend(PtxWarp &w, const PtxInstruction &i, u32 lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        const S v = static_cast<S>(w.get_any(i.at[1], i.nbytes[1], lane));
        w.put_any(i.at[0], i.nbytes[0], lane, static_cast<u64>(static_cast<s64>(v)));
    }
}
template <class S> PtxOpcode cvt_any()
{
    PtxOpcode o;
    o.run = extend<S>;
    o.n_operands = 2;
    return o;
}

// mov {low, high}, both
template <class D, class S> void unpack(PtxWarp &w, const PtxInstruction &i, u32 lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        const S v = w.get<S>(i.at[2], lane);
        w.put<D>(i.at[0], lane, static_cast<D>(v));
        w.put<D>(i.at[1], lane, static_cast<D>(v >> (8 * sizeof(D))));
    }
}
template <class D, class S> PtxOpcode mov_unpack()
{
    PtxOpcode o;
    o.run = unpack<D, S>;
    o.n_operands = 3;
    o.nbytes = {sizeof(D), sizeof(D), sizeof(S)};
    return o;
}

// ---- the table ----------------------------------------------------------------------------------

template <class T> void comparisons(Table &t, const std::string &type)
{
    t["setp.eq." + type] = Lanes<u8, T, T>::template opcode<eq<T>>();
    t["setp.ne." + type] = Lanes<u8, T, T>::template opcode<ne<T>>();
    t["setp.lt." + type] = Lanes<u8, T, T>::template opcode<lt<T>>();
    t["setp.le." + type] = Lanes<u8, T, T>::template opcode<le<T>>();
    t["setp.gt." + type] = Lanes<u8, T, T>::template opcode<gt<T>>();
    t["setp.ge." + type] = Lanes<u8, T, T>::template opcode<ge<T>>();
}
template <class T> void float_operations(Table &t, const std::string &type)
{
    comparisons<T>(t, type);
    t["setp.equ." + type] = Lanes<u8, T, T>::template opcode<equ<T>>();
    t["setp.neu." + type] = Lanes<u8, T, T>::template opcode<neu<T>>();
    t["setp.ltu." + type] = Lanes<u8, T, T>::template opcode<ltu<T>>();
    t["setp.leu." + type] = Lanes<u8, T, T>::template opcode<leu<T>>();
    t["setp.gtu." + type] = Lanes<u8, T, T>::template opcode<gtu<T>>();
    t["setp.geu." + type] = Lanes<u8, T, T>::template opcode<geu<T>>();
    t["setp.nan." + type] = Lanes<u8, T, T>::template opcode<is_nan<T>>();
    t["add.rn." + type] = binary<T, add<T>>();
    t["sub.rn." + type] = binary<T, sub<T>>();
    t["mul.rn." + type] = binary<T, mul<T>>();
    t["div.rn." + type] = binary<T, divide<T>>();
    t["fma.rn." + type] = ternary<T, std::fma>();
    t["neg." + type] = unary<T, negated<T>>();
    t["abs." + type] = unary<T, magnitude_of_float<T>>();
    t["mov." + type] = unary<T, same<T>>();
    t["selp." + type] = Lanes<T, T, T, u8>::template opcode<select<T>>();
}
template <class U> void integer_operations(Table &t, const std::string &bits)
{
    using S = typename std::make_signed<U>::type;
    comparisons<U>(t, "b" + bits);
    comparisons<U>(t, "u" + bits);
    comparisons<S>(t, "s" + bits);
    for (const char *sign : {"u", "s"}) { // these do not look at it
        t["add." + (sign + bits)] = binary<U, add<U>>();
        t["sub." + (sign + bits)] = binary<U, sub<U>>();
        t["mul.lo." + (sign + bits)] = binary<U, mul<U>>();
        t["mad.lo." + (sign + bits)] = ternary<U, mul_add<U>>();
    }
    t["neg.s" + bits] = unary<U, negated<U>>();
    t["abs.s" + bits] = unary<S, magnitude<S>>();
    t["div.s" + bits] = binary<S, divide<S>>();
    t["div.u" + bits] = binary<U, divide<U>>();
    t["rem.s" + bits] = binary<S, remainder_of<S>>();
    t["rem.u" + bits] = binary<U, remainder_of<U>>();
    t["min.s" + bits] = binary<S, smaller<S>>();
    t["min.u" + bits] = binary<U, smaller<U>>();
    t["max.s" + bits] = binary<S, larger<S>>();
    t["max.u" + bits] = binary<U, larger<U>>();
    t["and.b" + bits] = binary<U, bit_and<U>>();
    t["or.b" + bits] = binary<U, bit_or<U>>();
    t["xor.b" + bits] = binary<U, bit_xor<U>>();
    t["not.b" + bits] = unary<U, bit_not<U>>();
    t["shl.b" + bits] = Lanes<U, U, u32>::template opcode<shift_left<U>>();
    t["shr.u" + bits] = Lanes<U, U, u32>::template opcode<shift_right<U>>();
    t["shr.s" + bits] = Lanes<S, S, u32>::template opcode<shift_right<S>>();
    for (const char *sign : {"b", "u", "s"}) {
        t["mov." + (sign + bits)] = unary<U, same<U>>();
        t["selp." + (sign + bits)] = Lanes<U, U, U, u8>::template opcode<select<U>>();
    }
}

Table make_table()
{
    Table t;
    integer_operations<u16>(t, "16");
    integer_operations<u32>(t, "32");
    integer_operations<u64>(t, "64");
    float_operations<f32>(t, "f32");
    float_operations<f64>(t, "f64");
    t["mul.wide.s16"] = Lanes<s32, s16, s16>::opcode<mul_wide<s32, s16>>();
    t["mul.wide.u16"] = Lanes<u32, u16, u16>::opcode<mul_wide<u32, u16>>();
    t["mul.wide.s32"] = Lanes<s64, s32, s32>::opcode<mul_wide<s64, s32>>();
    t["mul.wide.u32"] = Lanes<u64, u32, u32>::opcode<mul_wide<u64, u32>>();
    t["mul.hi.s32"] = binary<s32, mul_hi_s32>();
    t["mul.hi.u32"] = binary<u32, mul_hi_u32>();
    t["mul.hi.u64"] = binary<u64, mul_hi_u64>();
    t["min.f32"] = binary<f32, smaller_f32>();
    t["max.f32"] = binary<f32, larger_f32>();
    t["rcp.rn.f32"] = unary<f32, reciprocal>();
    t["sqrt.rn.f32"] = unary<f32, square_root>();
    t["and.pred"] = binary<u8, bit_and<u8>>();
    t["or.pred"] = binary<u8, bit_or<u8>>();
    t["xor.pred"] = binary<u8, bit_xor<u8>>();
    t["not.pred"] = unary<u8, not_pred>();
    t["mov.pred"] = unary<u8, same<u8>>();
    t["popc.b32"] = unary<u32, count_ones>();
    t["bfi.b32"] = Lanes<u32, u32, u32, u32, u32>::opcode<insert_bits<u32>>();
    t["bfi.b64"] = Lanes<u64, u64, u64, u32, u32>::opcode<insert_bits<u64>>();
    t["prmt.b32"] = ternary<u32, permute>();
    t["dp4a.s32.s32"] = ternary<s32, __dp4a>();

    t["mov.b32.pack"] = Lanes<u32, u16, u16>::opcode<pack_halves>();
    t["mov.b64.pack"] = Lanes<u64, u32, u32>::opcode<pack_words>();
    t["mov.b32.unpack"] = mov_unpack<u16, u32>();
    t["mov.b64.unpack"] = mov_unpack<u32, u64>();

    t["add.rn.f16x2"] = binary<u32, f16x2_add>();
    t["sub.rn.f16x2"] = binary<u32, f16x2_sub>();
    t["mul.rn.f16x2"] = binary<u32, f16x2_mul>();
    t["fma.rn.f16x2"] = ternary<u32, f16x2_fma>();

    t["cvt.s16.s8"] = t["cvt.s32.s8"] = t["cvt.s64.s8"] = cvt_any<int8_t>();
    t["cvt.u16.u8"] = t["cvt.u32.u8"] = t["cvt.u64.u8"] = cvt_any<u8>();
    t["cvt.s32.s16"] = t["cvt.s64.s16"] = cvt_any<s16>();
    t["cvt.u32.u16"] = t["cvt.u64.u16"] = cvt_any<u16>();
    t["cvt.s64.s32"] = cvt<s64, s32>();
    t["cvt.u64.u32"] = cvt<u64, u32>();
    t["cvt.u16.u32"] = cvt<u16, u32>();
    t["cvt.u16.u64"] = cvt<u16, u64>();
    t["cvt.u32.u64"] = cvt<u32, u64>();
    t["cvt.f32.f16"] = Lanes<f32, u16>::opcode<half_to_f32>();
    t["cvt.f64.f32"] = cvt<f64, f32>();
    t["cvt.rn.f32.s16"] = cvt<f32, s16>();
    t["cvt.rn.f32.u16"] = cvt<f32, u16>();
    t["cvt.rn.f32.s32"] = cvt<f32, s32>();
    t["cvt.rn.f32.u32"] = cvt<f32, u32>();
    t["cvt.rn.f32.u64"] = cvt<f32, u64>();
    t["cvt.rn.f64.s32"] = cvt<f64, s32>();
    t["cvt.rni.f32.f32"] = unary<f32, nearest_f32>();
    t["cvt.rni.s32.f32"] = Lanes<s32, f32>::opcode<nearest_integer<s32>>();
    t["cvt.rzi.u32.f32"] = Lanes<u32, f32>::opcode<saturate<u32>>();
    t["cvt.rzi.s32.f32"] = Lanes<s32, f32>::opcode<saturate<s32>>();
    // Addresses of global memory are those of the host already.
    t["cvta.to.global.u64"] = unary<u64, same<u64>>();
    return t;
}

} // namespace

bool ptx_find_lanes(const std::string &name, PtxOpcode *op)
{
    static const Table table = make_table();
    const auto known = table.find(name);
    if (known != table.end())
        *op = known->second;
    return known != table.end();
}
