# Prints what is to be known about the PostgreSQL programs in each of $bin_directories.
section() { printf '\036%s\n' "$1"; }
run() {
    section "$1"
    shift
    "$@" 2> /dev/null
}
for folder in $bin_directories; do
    if [ ! -x "$folder/postgres" ] && [ ! -x "$folder/pgbench" ]; then continue; fi
    section bin_directory; echo "$folder"
    run postgres_version "$folder/postgres" --version
    run pgbench_version "$folder/pgbench" --version
    run configure "$folder/pg_config" --configure
    run compiler "$folder/pg_config" --cc
    run cflags "$folder/pg_config" --cflags
    for program in postgres pgbench; do
        [ ! -r "$folder/$program" ] || run "${program}_sha256" sha256sum -- "$folder/$program"
    done
done
