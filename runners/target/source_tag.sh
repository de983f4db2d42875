# Prints the commit that a tag is of now, and reads nothing else of the repository; or, behind 'refused', why it cannot.
# Set before: place, tag.
set -u
LC_ALL=C GIT_TERMINAL_PROMPT=0
export LC_ALL GIT_TERMINAL_PROMPT
refuse() { echo "refused $1"; exit 0; }
command -v git > /dev/null 2>&1 ||
    refuse "The host lacks git: install the packages of these names there, then build again."
lines=$(timeout -k 1 60 git -c protocol.allow=never -c "protocol.${place%%:*}.allow=always" ls-remote -- "$place" \
    "refs/tags/$tag" "refs/tags/$tag^{}" 2> /dev/null < /dev/null) ||
    refuse "The host could not fetch from $place: check the URL, and that the host may reach it."
[ -n "$lines" ] || refuse "There is no $tag at $place: give a tag or a whole commit that is there."
# A tag that is an object of its own has a second line, with its commit.
commit=$(echo "$lines" | tail -n 1 | cut -f 1)
echo "commit $commit"
