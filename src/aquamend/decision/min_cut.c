/* The smallest closed set of greatest total weight, for many weights at once: a maximum flow by Dinic's algorithm.

   A node of positive weight is fed by the source, one of negative weight drains into the sink; what a node requires is
   an edge without limit. All numbers are whole, so the answer is exact and the same on every machine. The last search
   of each flow, which no longer finds the sink, has reached just the nodes of the smallest best set. */

#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef struct {
    int32_t n;
    /* What each node requires, and what requires it: both lists name the edge, since a flow may be taken back. */
    const int32_t *out_first, *out_node, *in_first, *in_node, *in_edge;
    int64_t *flow, *feed, *drain;
    int32_t *level, *next, *queue, *path;
} Network;

/* Number the nodes by their distance from what still feeds; return whether one that drains is among them. */
static int search(Network *net)
{
    int32_t head = 0, tail = 0, last = INT32_MAX;
    for (int32_t v = 0; v < net->n; v++) {
        net->level[v] = net->feed[v] > 0 ? 0 : -1;
        if (net->feed[v] > 0) net->queue[tail++] = v;
    }
    while (head < tail) {
        int32_t u = net->queue[head++], further = net->level[u] + 1;
        if (further > last) break;
        if (net->drain[u] > 0) { last = net->level[u]; continue; }
        for (int32_t e = net->out_first[u]; e < net->out_first[u + 1]; e++) {
            int32_t v = net->out_node[e];
            if (net->level[v] < 0) { net->level[v] = further; net->queue[tail++] = v; }
        }
        for (int32_t i = net->in_first[u]; i < net->in_first[u + 1]; i++) {
            int32_t v = net->in_node[i];
            if (net->level[v] < 0 && net->flow[net->in_edge[i]] > 0) {
                net->level[v] = further;
                net->queue[tail++] = v;
            }
        }
    }
    return last != INT32_MAX;
}

/* Return the next edge from u one level on, numbered through what it requires and then what requires it; -1: none. */
static int32_t onward(Network *net, int32_t u, int32_t *v)
{
    int32_t n_out = net->out_first[u + 1] - net->out_first[u], n_in = net->in_first[u + 1] - net->in_first[u];
    for (int32_t k = net->next[u]; k < n_out + n_in; k++) {
        int32_t i = k < n_out ? net->out_first[u] + k : net->in_first[u] + k - n_out;
        *v = k < n_out ? net->out_node[i] : net->in_node[i];
        if (net->level[*v] == net->level[u] + 1 && (k < n_out || net->flow[net->in_edge[i]] > 0)) {
            net->next[u] = k;
            return k;
        }
    }
    net->next[u] = n_out + n_in;
    return -1;
}

/* Return the flow along the edge that a node takes next, with 1 for an edge without limit, or -1 for one taken back. */
static int64_t *along(Network *net, int32_t u, int sign[1])
{
    int32_t k = net->next[u], n_out = net->out_first[u + 1] - net->out_first[u];
    *sign = k < n_out ? 1 : -1;
    return &net->flow[k < n_out ? net->out_first[u] + k : net->in_edge[net->in_first[u] + k - n_out]];
}

/* Send all that can be sent from one node along the levels. */
static void send(Network *net, int32_t start)
{
    int32_t length = 0, u = start, v;
    net->path[0] = start;
    while (net->feed[start] > 0) {
        int sign;
        if (net->drain[u] > 0) {
            int64_t most = net->feed[start] < net->drain[u] ? net->feed[start] : net->drain[u];
            for (int32_t k = 0; k < length; k++) {
                int64_t *flow = along(net, net->path[k], &sign);
                if (sign < 0 && *flow < most) most = *flow;
            }
            for (int32_t k = 0; k < length; k++) {
                int64_t *flow = along(net, net->path[k], &sign);
                *flow += sign * most;
            }
            net->feed[start] -= most;
            net->drain[u] -= most;
            /* Go on from the first edge that gave all it could; without one, u has or start is done. */
            for (int32_t k = 0; k < length; k++) {
                int64_t *flow = along(net, net->path[k], &sign);
                if (sign < 0 && *flow == 0) { length = k; u = net->path[k]; break; }
            }
        } else if (onward(net, u, &v) >= 0) {
            net->path[++length] = u = v;
        } else {
            if (length == 0) return;
            net->level[u] = -1;
            u = net->path[--length];
            net->next[u]++;
        }
    }
}

/* Write, for each row of weights, which nodes are in its set.

   To work with there are n_edges + 2 n wide numbers, and 4 n narrow ones. */
EXPORTED void aquamend_closures(int64_t n_rows, int32_t n, int32_t n_edges, const int32_t *out_first,
                                const int32_t *out_node, const int32_t *in_first, const int32_t *in_node,
                                const int32_t *in_edge, const int64_t *weight, uint8_t *chosen, int64_t *wide,
                                int32_t *narrow)
{
    Network net = {n, out_first, out_node, in_first, in_node, in_edge, wide, wide + n_edges, wide + n_edges + n,
                   narrow, narrow + n, narrow + 2 * (size_t)n, narrow + 3 * (size_t)n};
    for (int64_t row = 0; row < n_rows; row++, weight += n, chosen += n) {
        memset(net.flow, 0, sizeof(int64_t) * (size_t)n_edges);
        for (int32_t v = 0; v < n; v++) {
            net.feed[v] = weight[v] > 0 ? weight[v] : 0;
            net.drain[v] = weight[v] < 0 ? -weight[v] : 0;
        }
        while (search(&net)) {
            memset(net.next, 0, sizeof(int32_t) * (size_t)n);
            for (int32_t v = 0; v < n; v++)
                if (net.feed[v] > 0) send(&net, v);
        }
        for (int32_t v = 0; v < n; v++) chosen[v] = net.level[v] >= 0;
    }
}
