/* Steps of weights under an l1 penalty, each weight with a rate of its own. */

static void proximal_step(float *restrict w, float *restrict squares, float *restrict total,
                          const float *restrict gradient, ptrdiff_t n, float rate, float shrink,
                          float decay)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        const float g = gradient[k] + decay * w[k];
        const float s = squares[k] + g * g;
        const float step = s > 1e-30f ? rate / sqrtf(s) : 0.0f;
        const float moved = w[k] - step * g;
        const float cut = step * shrink;
        const float above = moved - cut > 0.0f ? moved - cut : 0.0f;
        const float below = moved + cut < 0.0f ? moved + cut : 0.0f;
        const float value = above + below;
        squares[k] = s;
        w[k] = value;
        total[k] += value;
    }
}
