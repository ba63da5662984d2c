// Solves positions of connect four on 6 rows and 7 columns: alpha-beta search on bit boards, with a table of bounds.
//
// A board is a number of 49 bits: a column has 7, the lowest row first, of which the highest one stays empty. `own` has
// the stones of the player whose turn it is, `all` those of both players. Values are 1 for a position that this player
// wins if both play best, 0 for a draw, -1 for a loss.

#include <algorithm>
#include <cstddef>
#include <cstdint>

using Board = std::uint64_t;

namespace {

constexpr int COLUMNS = 7, ROWS = 6, HEIGHT = ROWS + 1, SQUARES = COLUMNS * ROWS;
constexpr int CENTER_FIRST[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};

constexpr Board bottom_row() {
    Board row = 0;
    for (int column = 0; column < COLUMNS; ++column) row |= Board(1) << (column * HEIGHT);
    return row;
}

constexpr Board BOTTOM = bottom_row(), WHOLE = BOTTOM * ((Board(1) << ROWS) - 1);

constexpr Board of_column(int column) { return ((Board(1) << ROWS) - 1) << (column * HEIGHT); }

// Returns the empty squares that complete four stones in a row.
Board completing(Board stones, Board all) {
    Board squares = (stones << 1) & (stones << 2) & (stones << 3);  // upwards
    for (int step : {HEIGHT, HEIGHT - 1, HEIGHT + 1}) {             // sideways, and both diagonals
        const Board right = (stones << step) & (stones << 2 * step), left = (stones >> step) & (stones >> 2 * step);
        squares |= right & (stones << 3 * step);  // the square beyond three stones
        squares |= right & (stones >> step);      // the gap within them
        squares |= left & (stones << step);
        squares |= left & (stones >> 3 * step);
    }
    return squares & (WHOLE ^ all);
}

Board mirrored(Board board) {
    Board other = 0;
    for (int column = 0; column < COLUMNS; ++column, board >>= HEIGHT)
        other = other << HEIGHT | (board & ((Board(1) << HEIGHT) - 1));
    return other;
}

constexpr int PROBED = 24;  // stones up to which all moves are looked up before the first is searched
constexpr int MIRRORED = 20;  // stones up to which a position and its mirror image are one: later ones seldom meet it

// Returns a number of the position, which is never 0.
Board key_of(Board own, Board all, int stones) {
    const Board key = own + all + BOTTOM;
    return stones < MIRRORED ? std::min(key, mirrored(key)) : key;
}

// Bounds of values that were computed, two for a place: the one that took most work, and the last of the others.
// An entry has the key, the binary logarithm of the number of positions that were searched, and both bounds plus 1.
struct Place {
    Board longest, last;
};
constexpr int BITS = 25;
Place table[std::size_t(1) << BITS];  // 512 MiB, of which the system gives what is written to
std::uint64_t searched = 0;

Place& place(Board key) { return table[key * 0x9E3779B97F4A7C15u >> (64 - BITS)]; }

// Narrows the bounds to those that the table has of the position.
void narrow(Board key, int& low, int& high) {
    const Place& there = place(key);
    for (const Board entry : {there.longest, there.last})
        if (entry >> 10 == key) {
            low = std::max(low, int(entry & 3) - 1);
            high = std::min(high, int(entry >> 2 & 3) - 1);
        }
}

void put(Board key, int low, int high, std::uint64_t positions) {
    const Board work = 63 - __builtin_clzll(positions | 1);
    const Board entry = key << 10 | work << 4 | Board(high + 1) << 2 | Board(low + 1);
    Place& there = place(key);
    if ((there.longest >> 4 & 63) > work && there.longest >> 10 != key) {
        there.last = entry;
        return;
    }
    if (there.longest >> 10 != key) there.last = there.longest;
    there.longest = entry;
}

// Returns whether the value is at least `goal` (0 or 1). The player whose turn it is cannot complete four at once.
bool reaches(Board own, Board all, int stones, int goal) {
    const Board other = own ^ all, threats = completing(other, all);
    Board moves = (all + BOTTOM) & WHOLE;
    if (const Board forced = moves & threats) {
        if (forced & (forced - 1)) return false;
        moves = forced;
    }
    moves &= ~(threats >> 1);  // a stone below a threat lets the other player complete it
    if (!moves) return false;
    if (stones >= SQUARES - 2) return goal <= 0;  // two squares are left, and neither completes four

    const Board key = key_of(own, all, stones);
    const std::uint64_t before = searched++;
    int low = -1, high = 1;
    narrow(key, low, high);
    if (low >= goal) return true;
    if (high < goal) return false;

    struct Move {
        Board square;
        int threats;
    } ordered[COLUMNS];
    int count = 0;
    bool reached = false;
    for (int column : CENTER_FIRST) {
        const Board square = moves & of_column(column);
        if (!square) continue;
        if (stones < PROBED) {
            int lowest = -1, highest = 1;  // of the other player, by the table
            narrow(key_of(other, all | square, stones + 1), lowest, highest);
            if ((reached = highest < 1 - goal)) break;
            if (lowest >= 1 - goal) continue;
        }
        const int made = __builtin_popcountll(completing(own | square, all | square));
        int at = count++;
        for (; at > 0 && ordered[at - 1].threats < made; --at) ordered[at] = ordered[at - 1];
        ordered[at] = {square, made};
    }
    for (int at = 0; at < count && !reached; ++at)  // the other player does not reach more than -goal
        reached = !reaches(other, all | ordered[at].square, stones + 1, 1 - goal);
    if (reached) put(key, goal, high, searched - before);
    else put(key, low, goal - 1, searched - before);
    return reached;
}

// The same of any position.
bool is_at_least(Board own, Board all, int goal) {
    const Board moves = (all + BOTTOM) & WHOLE;
    if (moves & completing(own, all)) return true;
    const int stones = __builtin_popcountll(all);
    return stones == SQUARES ? goal <= 0 : reaches(own, all, stones, goal);
}

}  // namespace

extern "C" int value(Board own, Board all) { return is_at_least(own, all, 1) ? 1 : is_at_least(own, all, 0) ? 0 : -1; }

// Returns the columns that keep the value, a bit each: all that are not full if it is -1.
extern "C" int best_columns(Board own, Board all) {
    const Board moves = (all + BOTTOM) & WHOLE, wins = moves & completing(own, all);
    const int goal = value(own, all);
    int columns = 0;
    for (int column = 0; column < COLUMNS; ++column) {
        const Board square = moves & of_column(column);
        if (square && (wins & square || goal < 0 || !is_at_least(own ^ all, all | square, 1 - goal)))
            columns |= 1 << column;
    }
    return columns;
}
