#include "contract/profiles.h"

#include <stdio.h>
#include <string.h>

#include "contract/profile_rows.h"

#define ROW_TABLES_MAX 2

typedef struct profile_entry_t {
  mlxcel_profile_t profile;
  const mlxcel_row_table_t* tables[ROW_TABLES_MAX];
} profile_entry_t;

static const profile_entry_t entries[] = {
    {{.name = MLXCEL_PROFILE_PINNED_F32, .rope_tables = true, .runs_models = true, .precision = "f32"}, {&mlxcel_rows_pinned}},
    {{.name = MLXCEL_PROFILE_MLX_CPU, .reference = "mlx-cpu-0.32.4", .runs_models = true, .precision = "checkpoint"}, {&mlxcel_rows_mlx_cpu}},
    {{.name = MLXCEL_PROFILE_IREE_CANONICAL, .rope_tables = true}, {&mlxcel_rows_canonical}},
    {{.name = MLXCEL_PROFILE_MLX_CUDA_SM80, .reference = "mlx-cuda-0.32.4-sm80", .is_declared_only = true},
     {&mlxcel_rows_mlx_cuda, &mlxcel_rows_mlx_cuda_sm80}},
    {{.name = MLXCEL_PROFILE_MLX_CUDA_SM90A, .reference = "mlx-cuda-0.32.4-sm90a", .is_declared_only = true},
     {&mlxcel_rows_mlx_cuda, &mlxcel_rows_mlx_cuda_sm90a}},
};

const mlxcel_profile_t* mlxcel_profile_at(size_t index) { return index < IREE_ARRAYSIZE(entries) ? &entries[index].profile : NULL; }

const mlxcel_profile_t* mlxcel_profile_find(iree_string_view_t name) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries); ++i) {
    if (iree_string_view_equal(name, iree_make_cstring_view(entries[i].profile.name))) return &entries[i].profile;
  }
  return NULL;
}

void mlxcel_profile_names(bool only_models, char buffer[MLXCEL_PROFILE_NAMES_BYTES_MAX]) {
  size_t used = 0;
  buffer[0] = 0;
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries) && used < MLXCEL_PROFILE_NAMES_BYTES_MAX; ++i) {
    const mlxcel_profile_t* profile = &entries[i].profile;
    if (only_models && !profile->runs_models) continue;
    used += (size_t)snprintf(buffer + used, MLXCEL_PROFILE_NAMES_BYTES_MAX - used, "%s%s", used ? ", " : "", profile->name);
  }
}

// Profiles come from entries only.
static const profile_entry_t* entry_of(const mlxcel_profile_t* profile) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries); ++i) {
    if (profile == &entries[i].profile) return &entries[i];
  }
  return NULL;
}

//===- Rows and operations ----------------------------------------------------------------------------------------------------------------------------===//

static uint32_t row_variants(const mlxcel_profile_row_t* row) { return row->variants ? row->variants : MLXCEL_V(NONE); }
static bool row_is_matmul(const mlxcel_profile_row_t* row) { return row->op == MLXCEL_OP_DENSE_MATMUL || row->op == MLXCEL_OP_QUANTIZED_MATMUL; }
static bool row_allows_bias(const mlxcel_profile_row_t* row) { return row_is_matmul(row) && !row->has_no_bias; }

// The part's own dtype where it is looked at; of the others (embedding, dequantize) that of the weights.
static mlxcel_dtype_t activation_dtype(const mlxcel_profile_row_t* row, const mlxcel_operation_t* operation) {
  return row->dtypes ? operation->dtype : operation->weight_dtype;
}

// cuDNN comes first: 16-bit types, heads of up to 128, more than one row, or one row over a cache of at least 256 keys (whose steps of 256 it follows).
#define ATTENTION_PLAN_KEYS_MIN 256
static bool attention_has_plan(const mlxcel_operation_t* o) {
  bool fits = o->dtype != MLXCEL_DTYPE_F32 && o->head_dim % 8 == 0 && o->head_dim <= 128;
  return fits && (o->rows > 1 || o->keys >= ATTENTION_PLAN_KEYS_MIN);
}
// Then MLX's own kernel of few rows without an array of masks; what is left is decomposed.
static bool attention_is_vector(const mlxcel_operation_t* o) {
  bool fits = o->rows < 4 && (o->head_dim == 64 || o->head_dim == 96 || o->head_dim == 128);
  return fits && o->variant != MLXCEL_VARIANT_MASK_ADDITIVE && !attention_has_plan(o);
}
// The longest row of keys that the kernel of one pass takes.
#define ATTENTION_SHORT_KEYS_MAX 1024

#define QMM_TILE 128   // outputs of a tile; also a multiple of every group size
#define QMM_TILE_K 64  // features of a tile, unless a group is wider
static bool qmm_has_whole_tiles(const mlxcel_operation_t* o) {
  int64_t k = o->group_size > QMM_TILE_K ? (int64_t)o->group_size : QMM_TILE_K;
  return o->out_features % QMM_TILE == 0 && o->in_features % k == 0;
}

static bool when_holds(mlxcel_row_when_t when, const mlxcel_operation_t* o) {
  bool vector = attention_is_vector(o);
  switch (when) {
    case MLXCEL_WHEN_ALWAYS:
      return true;
    case MLXCEL_WHEN_ONE_ROW:
      return o->rows == 1;
    case MLXCEL_WHEN_QMM_TILES:
      return qmm_has_whole_tiles(o);
    case MLXCEL_WHEN_QMM_RESIDUE:
      return !qmm_has_whole_tiles(o);
    case MLXCEL_WHEN_ATTENTION_SHORT:
      return vector && o->keys <= ATTENTION_SHORT_KEYS_MAX;
    case MLXCEL_WHEN_ATTENTION_LONG:
      return vector && o->keys > ATTENTION_SHORT_KEYS_MAX;
    case MLXCEL_WHEN_ATTENTION_PLAN:
      return attention_has_plan(o);
    case MLXCEL_WHEN_ATTENTION_DECOMPOSED:
      return !vector && !attention_has_plan(o);
  }
  return false;
}

// Sizes for which |when| holds.
static void when_example(mlxcel_row_when_t when, mlxcel_operation_t* operation) {
  switch (when) {
    case MLXCEL_WHEN_ALWAYS:
      break;
    case MLXCEL_WHEN_ONE_ROW:
      operation->rows = 1;
      break;
    case MLXCEL_WHEN_QMM_TILES:
    case MLXCEL_WHEN_QMM_RESIDUE:
      operation->rows = 16;
      operation->in_features = QMM_TILE;
      operation->out_features = when == MLXCEL_WHEN_QMM_TILES ? QMM_TILE : QMM_TILE + 64;
      break;
    case MLXCEL_WHEN_ATTENTION_SHORT:
    case MLXCEL_WHEN_ATTENTION_LONG:
      operation->rows = 1;
      operation->head_dim = 64;
      operation->keys = when == MLXCEL_WHEN_ATTENTION_SHORT ? ATTENTION_PLAN_KEYS_MIN - 1 : ATTENTION_SHORT_KEYS_MAX + 1;
      break;
    case MLXCEL_WHEN_ATTENTION_PLAN:
    case MLXCEL_WHEN_ATTENTION_DECOMPOSED:
      operation->rows = operation->keys = 16;
      operation->head_dim = when == MLXCEL_WHEN_ATTENTION_PLAN ? 64 : 256;
      break;
  }
}

static bool weights_match(const mlxcel_profile_row_t* row, const mlxcel_operation_t* o) {
  if (row->source == MLXCEL_SOURCE_CACHE) return (row->weights >> mlxcel_operation_cache_dtype(o) & 1) != 0;
  if (o->cache_dtype != MLXCEL_DTYPE_F32) return false;
  if (row->source == MLXCEL_SOURCE_NONE) return true;
  if ((row->source == MLXCEL_SOURCE_AFFINE) != (o->bits != 0)) return false;
  if (o->bits != 0) {
    uint32_t bits = row->bits ? row->bits : MLXCEL_B_ALL;
    bool group = o->group_size == 32 || o->group_size == 64 || o->group_size == 128;
    if (o->bits > 8 || !(bits >> o->bits & 1) || !group) return false;
  }
  return row->weights ? (row->weights >> o->weight_dtype & 1) != 0 : o->weight_dtype == o->dtype;
}

// A bias must not change the dtype that the sum has.
static bool bias_matches(const mlxcel_profile_row_t* row, const mlxcel_operation_t* o) {
  if (!o->has_bias) return true;
  mlxcel_dtype_t promoted = mlxcel_dtype_promote(o->dtype, o->weight_dtype);
  return row_allows_bias(row) && mlxcel_dtype_promote(promoted, o->bias_dtype) == promoted;
}

static bool row_matches(const mlxcel_profile_row_t* row, const mlxcel_operation_t* o, mlxcel_composition_t within) {
  if (row->op != o->op || row->within != within || row->frequencies != o->has_frequencies) return false;
  if (!(row_variants(row) >> o->variant & 1) || (row->dtypes && !(row->dtypes >> o->dtype & 1))) return false;
  return weights_match(row, o) && bias_matches(row, o) && when_holds(row->when, o);
}

static const mlxcel_profile_row_t* row_find(const profile_entry_t* entry, const mlxcel_operation_t* operation, mlxcel_composition_t within) {
  for (size_t t = 0; t < ROW_TABLES_MAX && entry->tables[t]; ++t) {
    for (size_t i = 0; i < entry->tables[t]->count; ++i) {
      if (row_matches(&entry->tables[t]->rows[i], operation, within)) return &entry->tables[t]->rows[i];
    }
  }
  return NULL;
}

static bool operation_is_known(const mlxcel_operation_t* o) {
  return (uint32_t)o->op < MLXCEL_OP_COUNT && (uint32_t)o->variant < MLXCEL_VARIANT_COUNT && o->dtype <= MLXCEL_DTYPE_BF16 &&
         o->weight_dtype <= MLXCEL_DTYPE_BF16 && o->bias_dtype <= MLXCEL_DTYPE_BF16 && o->cache_dtype <= MLXCEL_DTYPE_BF16;
}

//===- Templates --------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct expansion_t {
  const char *activation, *weight, *promoted, *bias, *cache;
  bool has_bias;
  mlxcel_clause_storage_t* storage;
  size_t used;
  bool overflowed;
} expansion_t;

static void expansion_add(expansion_t* expansion, const char* text, size_t size) {
  expansion->overflowed = expansion->overflowed || size >= sizeof(expansion->storage->text) - expansion->used;
  if (expansion->overflowed) return;
  memcpy(expansion->storage->text + expansion->used, text, size);
  expansion->used += size;
}

static const char* expansion_symbol(const expansion_t* expansion, char symbol) {
  return symbol == 'T'   ? expansion->activation
         : symbol == 'W' ? expansion->weight
         : symbol == 'P' ? expansion->promoted
         : symbol == 'B' ? expansion->bias
         : symbol == 'C' ? expansion->cache
                         : NULL;
}

// The expanded text, in the storage.
static const char* expand(expansion_t* expansion, const char* template_text) {
  if (!template_text) return NULL;
  const char* start = expansion->storage->text + expansion->used;
  bool skips = false;
  for (const char* c = template_text; *c; ++c) {
    const char* word = expansion_symbol(expansion, *c);
    if (*c == '[' || *c == ']') {
      skips = *c == '[' && !expansion->has_bias;
    } else if (!skips) {
      expansion_add(expansion, word ? word : c, word ? strlen(word) : 1);
    }
  }
  expansion_add(expansion, "", 1);
  return start;
}

static const char* expand_source(expansion_t* expansion, const mlxcel_profile_row_t* row, const mlxcel_operation_t* operation) {
  if (row->source == MLXCEL_SOURCE_NONE) return NULL;
  if (row->source == MLXCEL_SOURCE_DENSE) return expand(expansion, "W[+bias-B]");
  if (row->source == MLXCEL_SOURCE_CACHE) return expand(expansion, "C");
  char text[48];
  snprintf(text, sizeof(text), "affine-u%u-g%u-W[+bias-B]", operation->bits, operation->group_size);
  return expand(expansion, text);
}

static iree_status_t row_expand(const mlxcel_profile_row_t* row, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* out_storage) {
  mlxcel_dtype_t activation = activation_dtype(row, operation);
  expansion_t expansion = {.activation = mlxcel_dtype_name(activation),
                           .weight = mlxcel_dtype_name(operation->weight_dtype),
                           .promoted = mlxcel_dtype_name(mlxcel_dtype_promote(activation, operation->weight_dtype)),
                           .bias = mlxcel_dtype_name(operation->bias_dtype),
                           .cache = mlxcel_dtype_name(mlxcel_operation_cache_dtype(operation)),
                           .has_bias = operation->has_bias,
                           .storage = out_storage};
  out_storage->clause = (mlxcel_clause_t){
      .op = row->op,
      .variant = row->joins_variants ? MLXCEL_VARIANT_NONE : operation->variant,
      .source_dtype = expand_source(&expansion, row, operation),
      .operand_dtype = expand(&expansion, row->operand_dtype),
      .accumulator = expand(&expansion, row->accumulator),
      .result_dtype = expand(&expansion, row->result_dtype),
      .rounding = expand(&expansion, row->rounding),
      .association = row->association,
      .dequantization = expand(&expansion, row->dequantization),
      .constants = expand(&expansion, row->constants),
      .functions = row->functions,
      .denormals = row->denormals,
      .algorithm = row->algorithm,
      .algorithm_version = row->algorithm_version ? row->algorithm_version : 1,
      .tolerance = row->tolerance ? row->tolerance : "exact",
      .derivation = row->derivation ? row->derivation : MLXCEL_DERIVATION_STATED,
      .representable = row->representable ? row->representable : "yes",
  };
  if (!expansion.overflowed) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INTERNAL, "the clause of %s is over %d bytes", mlxcel_op_class_name(row->op), MLXCEL_CLAUSE_TEXT_BYTES_MAX);
}

//===- Lookup -----------------------------------------------------------------------------------------------------------------------------------------===//

static void describe_set(mlxcel_strbuf_t* text, uint32_t set, uint32_t count, const char* (*name)(uint32_t)) {
  const char* separator = "";
  for (uint32_t i = 0; i < count; ++i) {
    if (!(set >> i & 1)) continue;
    mlxcel_strbuf_append_format(text, "%s%s", separator, name(i));
    separator = "|";
  }
}
static const char* name_of_variant(uint32_t i) { return mlxcel_op_variant_name((mlxcel_op_variant_t)i); }
static const char* name_of_dtype(uint32_t i) { return mlxcel_dtype_name((mlxcel_dtype_t)i); }

static void describe_row(mlxcel_strbuf_t* text, const mlxcel_profile_row_t* row) {
  mlxcel_strbuf_append_cstring(text, text->size ? ", " : "");
  describe_set(text, row_variants(row), MLXCEL_VARIANT_COUNT, name_of_variant);
  if (row->dtypes) {
    mlxcel_strbuf_append_cstring(text, " of ");
    describe_set(text, row->dtypes, MLXCEL_DTYPE_COUNT, name_of_dtype);
  }
  if (row->source == MLXCEL_SOURCE_NONE) return;
  static const char* const sources[] = {[MLXCEL_SOURCE_DENSE] = "dense ", [MLXCEL_SOURCE_AFFINE] = "affine ", [MLXCEL_SOURCE_CACHE] = "a cache of "};
  mlxcel_strbuf_append_format(text, " with %s", sources[row->source]);
  if (!row->weights) {
    mlxcel_strbuf_append_cstring(text, "weights of the same dtype");
  } else {
    describe_set(text, row->weights, MLXCEL_DTYPE_COUNT, name_of_dtype);
  }
  if (row_is_matmul(row)) mlxcel_strbuf_append_cstring(text, row_allows_bias(row) ? ", bias allowed" : ", no bias");
}

// What the profile does define: of this class, or else which classes.
static void describe_profile(const profile_entry_t* entry, mlxcel_op_class_t op, mlxcel_strbuf_t* text) {
  uint32_t classes = 0;
  for (size_t t = 0; t < ROW_TABLES_MAX && entry->tables[t]; ++t) {
    for (size_t i = 0; i < entry->tables[t]->count; ++i) {
      const mlxcel_profile_row_t* row = &entry->tables[t]->rows[i];
      classes |= 1u << row->op;
      if (row->op == op && row->within == MLXCEL_WITHIN_NONE) describe_row(text, row);
    }
  }
  if (text->size) return;
  for (int i = 0; i < MLXCEL_OP_COUNT; ++i) {
    if (classes >> i & 1) mlxcel_strbuf_append_format(text, "%s%s", text->size ? ", " : "", mlxcel_op_class_name((mlxcel_op_class_t)i));
  }
}

static iree_status_t undefined(const profile_entry_t* entry, const mlxcel_operation_t* o) {
  char weights[64] = "", bias[32] = "", cache[32] = "";
  if (o->bits) snprintf(weights, sizeof(weights), ", affine %u-bit groups of %u, %s", o->bits, o->group_size, mlxcel_dtype_name(o->weight_dtype));
  if (o->bits == 0) snprintf(weights, sizeof(weights), ", weights %s", mlxcel_dtype_name(o->weight_dtype));
  if (o->has_bias) snprintf(bias, sizeof(bias), ", bias %s", mlxcel_dtype_name(o->bias_dtype));
  if (o->cache_dtype != MLXCEL_DTYPE_F32) snprintf(cache, sizeof(cache), ", cache %s", mlxcel_dtype_name(o->cache_dtype));
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  describe_profile(entry, o->op, &text);
  iree_status_t status = iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile %s doesn't define %s (%s) of %s%s%s%s%s; it defines: %.*s", entry->profile.name,
                                          mlxcel_op_class_name(o->op), mlxcel_op_variant_name(o->variant), mlxcel_dtype_name(o->dtype), weights, bias, cache,
                                          o->has_frequencies ? ", frequencies" : "", MLXCEL_SV(mlxcel_strbuf_view(&text)));
  mlxcel_strbuf_deinitialize(&text);
  return status;
}

iree_status_t mlxcel_profile_clause(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* out_storage) {
  memset(out_storage, 0, sizeof(*out_storage));
  const profile_entry_t* entry = entry_of(profile);
  if (!entry) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "no profile of the table; take one of mlxcel_profile_find");
  const mlxcel_profile_row_t* row = NULL;
  if (operation_is_known(operation)) {
    row = row_find(entry, operation, operation->within);
    if (!row && operation->within) row = row_find(entry, operation, MLXCEL_WITHIN_NONE);
  }
  return row ? row_expand(row, operation, out_storage) : undefined(entry, operation);
}

//===- Enumeration ------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct visit_t {
  const profile_entry_t* entry;
  const mlxcel_profile_row_t* row;
  mlxcel_profile_visitor_t function;
  void* user_data;
} visit_t;

// Calls with |operation| if the row is the one that a lookup finds (an earlier row may hold for it).
static iree_status_t visit_operation(const visit_t* visit, const mlxcel_operation_t* operation) {
  if (row_find(visit->entry, operation, operation->within) != visit->row) return iree_ok_status();
  mlxcel_clause_storage_t storage;
  IREE_RETURN_IF_ERROR(mlxcel_profile_clause(&visit->entry->profile, operation, &storage));
  return visit->function(visit->user_data, operation, &storage.clause);
}

static iree_status_t visit_biases(const visit_t* visit, mlxcel_operation_t operation) {
  IREE_RETURN_IF_ERROR(visit_operation(visit, &operation));
  if (!row_allows_bias(visit->row)) return iree_ok_status();
  operation.has_bias = true;
  operation.bias_dtype = operation.weight_dtype;
  return visit_operation(visit, &operation);
}

static iree_status_t visit_codes(const visit_t* visit, mlxcel_operation_t operation) {
  static const uint32_t group_sizes[] = {32, 64, 128};
  if (visit->row->source != MLXCEL_SOURCE_AFFINE) return visit_biases(visit, operation);
  for (operation.bits = 2; operation.bits <= 8; ++operation.bits) {
    for (size_t i = 0; i < IREE_ARRAYSIZE(group_sizes); ++i) {
      operation.group_size = group_sizes[i];
      IREE_RETURN_IF_ERROR(visit_biases(visit, operation));
    }
  }
  return iree_ok_status();
}

// T and W; what the row doesn't look at stays f32, or is what the other is.
static iree_status_t visit_dtypes(const visit_t* visit, mlxcel_operation_t operation) {
  const mlxcel_profile_row_t* row = visit->row;
  uint32_t weights = row->source == MLXCEL_SOURCE_NONE || !row->weights ? MLXCEL_D(F32) : row->weights;
  for (uint32_t t = MLXCEL_DTYPE_F32; t <= MLXCEL_DTYPE_BF16; ++t) {
    if (!((row->dtypes ? row->dtypes : MLXCEL_D(F32)) >> t & 1)) continue;
    for (uint32_t w = MLXCEL_DTYPE_F32; w <= MLXCEL_DTYPE_BF16; ++w) {
      if (!(weights >> w & 1)) continue;
      if (row->source == MLXCEL_SOURCE_CACHE) operation.cache_dtype = (mlxcel_dtype_t)w;
      if (row->source != MLXCEL_SOURCE_CACHE) operation.weight_dtype = (mlxcel_dtype_t)w;
      operation.dtype = row->dtypes ? (mlxcel_dtype_t)t : operation.weight_dtype;
      if (row->source != MLXCEL_SOURCE_NONE && !row->weights) operation.weight_dtype = operation.dtype;
      when_example(row->when, &operation);
      IREE_RETURN_IF_ERROR(visit_codes(visit, operation));
    }
  }
  return iree_ok_status();
}

static iree_status_t visit_row(const visit_t* visit) {
  const mlxcel_profile_row_t* row = visit->row;
  mlxcel_operation_t operation = {.op = row->op, .within = row->within, .has_frequencies = row->frequencies};
  if (row->joins_variants) return visit_dtypes(visit, operation);
  for (int i = 0; i < MLXCEL_VARIANT_COUNT; ++i) {
    if (!(row_variants(row) >> i & 1)) continue;
    operation.variant = (mlxcel_op_variant_t)i;
    IREE_RETURN_IF_ERROR(visit_dtypes(visit, operation));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_profile_visit(const mlxcel_profile_t* profile, mlxcel_profile_visitor_t visit, void* user_data) {
  visit_t state = {.entry = entry_of(profile), .function = visit, .user_data = user_data};
  if (!state.entry) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "no profile of the table; take one of mlxcel_profile_find");
  for (size_t t = 0; t < ROW_TABLES_MAX && state.entry->tables[t]; ++t) {
    for (size_t i = 0; i < state.entry->tables[t]->count; ++i) {
      state.row = &state.entry->tables[t]->rows[i];
      IREE_RETURN_IF_ERROR(visit_row(&state));
    }
  }
  return iree_ok_status();
}
