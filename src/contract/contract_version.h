// contract_version.h: the version of the contract's vocabulary and canonical form: a changed rule is a new version.
// 1: pinned-f32 only. 2: the keys variant and representable; every value from a closed set (vocabulary.h).
#ifndef MLXCEL_CONTRACT_CONTRACT_VERSION_H_
#define MLXCEL_CONTRACT_CONTRACT_VERSION_H_

#define MLXCEL_CONTRACT_VERSION 2
#define MLXCEL_CONTRACT_VERSION_TEXT "2"

#endif  // MLXCEL_CONTRACT_CONTRACT_VERSION_H_
