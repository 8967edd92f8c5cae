//! For tests only: real services, killable processes, contract suites.
