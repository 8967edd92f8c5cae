# Reads what its test process has made and taken away again, a line each: "+process 7",
# "-process 7", "+directory /tmp/x", "+mount /tmp/x". At the end of its input, which also
# comes when the test process is killed, it takes away what is left.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
trap '' HUP INT TERM
made=
while read -r line; do
    case $line in
    +*) made="${line#+}
$made" ;;
    -*) made=$(printf '%s' "$made" | grep -Fxv -e "${line#-}") ;;
    esac
done

left() { printf '%s\n' "$made" | sed -n "s/^$1 //p"; }

left process | while read -r pid; do
    # A stopped process has no new children.
    kill -s STOP "$pid"
    kill -s KILL $(cat "/proc/$pid/task/"*/children) "$pid"
done
left mount | while read -r path; do
    umount -l "$path"
done
left directory | while read -r path; do
    # A killed Postgres leaves a segment of shared memory behind, named in its lock file.
    segment=$(sed -n '7s/.* //p' "$path/data/postmaster.pid")
    [ -z "$segment" ] || ipcrm -m "$segment"
    # The last writes of the killed may come in between.
    tries=0
    until rm -rf "$path" || [ "$tries" = 50 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
done
