// contract_version.h: the version of the contract's vocabulary and canonical form: a changed rule is a new version.
#ifndef MLXCEL_CONTRACT_CONTRACT_VERSION_H_
#define MLXCEL_CONTRACT_CONTRACT_VERSION_H_

#define MLXCEL_CONTRACT_VERSION 1
#define MLXCEL_CONTRACT_VERSION_TEXT "1"

#endif  // MLXCEL_CONTRACT_CONTRACT_VERSION_H_
