// contract_version.h: the version of the contract's vocabulary and canonical form: a changed rule is a new version.
#ifndef MLXCEL_CONTRACT_CONTRACT_VERSION_H_
#define MLXCEL_CONTRACT_CONTRACT_VERSION_H_

#define MLXCEL_CONTRACT_VERSION 2
#define MLXCEL_CONTRACT_VERSION_TEXT "2"

#endif  // MLXCEL_CONTRACT_CONTRACT_VERSION_H_
