// mlx_convolution.h: one place of a convolution, all or some of its output channels.
#ifndef MLXCEL_KERNELS_MLX_MLX_CONVOLUTION_H_
#define MLXCEL_KERNELS_MLX_MLX_CONVOLUTION_H_

#include "kernels/mlx/mlx_number.h"

#define CHANNELS_TOGETHER 8

typedef struct convolution_t {
  const uint8_t *x, *w;  // [batch, in_h, in_w, in_channels], [out_channels, kernel_h, kernel_w, in_channels]
  uint8_t* out;          // [batch, out_h, out_w, out_channels]
  size_t in_h, in_w, in_channels, out_h, out_w, out_channels, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  int type;
} convolution_t;

// Sums of |CHANNELS_TOGETHER| channels from |channel| on, at the image |image| and the place (h, w). Padding is multiplied like any input.
MLXCEL_INLINE void convolution_place(const convolution_t* a, size_t image, size_t h, size_t w, size_t channel, int type) {
  float sum[CHANNELS_TOGETHER];
  const uint8_t* weights[CHANNELS_TOGETHER];
  size_t taps = a->kernel_h * a->kernel_w * a->in_channels, tap = 0;
  for (size_t o = 0; o < CHANNELS_TOGETHER; ++o) {
    size_t last = a->out_channels - 1, n = channel + o < last ? channel + o : last;  // beyond the end: computed again, not stored
    weights[o] = a->w + n * taps * type_bytes(type);
    sum[o] = 0.0f;
  }
  for (size_t kh = 0; kh < a->kernel_h; ++kh) {
    for (size_t kw = 0; kw < a->kernel_w; ++kw) {
      size_t y = h * a->stride_h + kh - a->pad_h, x = w * a->stride_w + kw - a->pad_w;  // in front of the image they wrap to large numbers
      bool inside = y < a->in_h && x < a->in_w;
      for (size_t c = 0; c < a->in_channels; ++c, ++tap) {
        float value = inside ? load_typed(a->x, ((image * a->in_h + y) * a->in_w + x) * a->in_channels + c, type) : 0.0f;
        for (size_t o = 0; o < CHANNELS_TOGETHER; ++o) sum[o] = sum[o] + value * load_typed(weights[o], tap, type);
      }
    }
  }
  size_t place = ((image * a->out_h + h) * a->out_w + w) * a->out_channels;
  for (size_t o = 0; o < CHANNELS_TOGETHER && channel + o < a->out_channels; ++o) store_typed(a->out, place + channel + o, type, sum[o]);
}

// Unit |unit| of batch * out_h * out_w * channel_tiles.
static void convolution_unit(const convolution_t* a, size_t unit, size_t channel_tiles) {
  size_t channel = unit % channel_tiles * CHANNELS_TOGETHER, place = unit / channel_tiles;
  size_t w = place % a->out_w, h = place / a->out_w % a->out_h, image = place / a->out_w / a->out_h;
  if (a->type == MLXCEL_FORMAT_F32) convolution_place(a, image, h, w, channel, MLXCEL_FORMAT_F32);
  if (a->type == MLXCEL_FORMAT_F16) convolution_place(a, image, h, w, channel, MLXCEL_FORMAT_F16);
  if (a->type == MLXCEL_FORMAT_BF16) convolution_place(a, image, h, w, channel, MLXCEL_FORMAT_BF16);
}

#endif  // MLXCEL_KERNELS_MLX_MLX_CONVOLUTION_H_
